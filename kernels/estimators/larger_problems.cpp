#include "kernels/estimators/larger_problems.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hardware/known_part.hpp"

namespace foretoken {
namespace {

/// A layer takes some 10 KB.
constexpr std::size_t layers_max = 4096;
/// Families, on each part that a GPU of the user's is like.
constexpr std::size_t parts_max = 128;
/// Prices so many times apart, and as many by T, do not change places further on.
constexpr double apart = 3;

}  // namespace

/// Of one layer on one GPU.
class LargerProblems::Search {
 public:
  using Point = SizeLattice::Point;
  using Node = SizeLattice::Node;

  Search(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& gpu, const Ask& ask,
         SizeLattice& layer)
      : family_(family), kernel_(kernel), gpu_(gpu), ask_(ask), layer_(layer) {}

  /// At one point of the lattice: half of what it costs more than the cheapest larger problem, less
  /// half of what it costs less than the dearest smaller one.
  [[nodiscard]] double excess(const Point& point) {
    Node& here = priced(point);
    if (std::isnan(here.excess)) {
      here.excess = here.price > 0 ? (beyond(point, 1) - beyond(point, -1)) / 2 : 0;
    }
    return here.excess;
  }

  /// The price there, less the excess; 0: nobody prices it.
  [[nodiscard]] double held(const Point& point) {
    return priced(point).price * std::exp(-excess(point));
  }

 private:
  Node& priced(const Point& point) {
    Node& node = layer_.at(point);
    if (node.price < 0) {
      const Price asked = price_at(point);
      node.first = asked.first;
      node.price = asked.price;
    }
    return node;
  }

  [[nodiscard]] Price price_at(const Point& point) const {
    ProblemSize size{layer_.axes()};
    for (std::size_t axis = 0; axis < size.axes; ++axis) {
      size.sizes[axis] = layer_.size_at(point[axis]);
    }
    const Kernel larger = with_size(kernel_, size);
    return family_of(larger, gpu_) == &family_ ? ask_(larger) : Price{};
  }

  /// Logarithm of what `start` costs over the cheapest of the larger problems (direction 1), or
  /// below the dearest of the smaller ones (-1), less what T does.
  [[nodiscard]] double beyond(const Point& start, int direction) {
    const Node& own = priced(start);
    Price end{own.first, own.price};
    const auto is_past = [&](double there, double found) {
      return direction > 0 ? there > apart * found : found > apart * there;
    };
    const auto take = [&](double there, double& found) {
      found = direction > 0 ? std::min(found, there) : std::max(found, there);
    };
    const std::uint32_t walk = layer_.new_walk();
    static thread_local std::vector<Point> open;
    open.assign({start});
    while (!open.empty()) {
      const Point point = open.back();
      open.pop_back();
      const Node& there = priced(point);
      if (there.price == 0) continue;
      if (is_past(there.price, end.price) && is_past(there.first, end.first)) continue;
      take(there.price, end.price);
      take(there.first, end.first);
      for (std::size_t axis = 0; axis < layer_.axes(); ++axis) {
        Point next = point;
        next[axis] += direction;
        if (next[axis] < 0 || next[axis] >= layer_.end()) continue;
        if (std::exchange(layer_.at(next).walk, walk) != walk) open.push_back(next);
      }
    }
    const double more = std::log(own.price / end.price) - std::log(own.first / end.first);
    return std::max(direction * more, 0.0);
  }

  const EstimatorFamily& family_;
  const Kernel& kernel_;
  const GpuSpec& gpu_;
  const Ask& ask_;
  SizeLattice& layer_;
};

SizeLattice& LargerProblems::layer_of(const EstimatorFamily& family, const Kernel& kernel,
                                      const GpuSpec& gpu, std::size_t axes) const {
  auto part = std::ranges::find_if(
      parts_, [&](const Part& one) { return one.family == &family && same_part(one.gpu, gpu); });
  if (part == parts_.end()) {
    if (parts_.size() >= parts_max) parts_.clear();
    part = parts_.insert(parts_.end(), {&family, gpu, {}});
  }
  if (part->layers.size() >= layers_max) part->layers.clear();
  return part->layers.try_emplace(with_size(kernel, {axes, {1, 1, 1}}), axes).first->second;
}

double LargerProblems::held(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& gpu,
                            double alone, const Ask& ask) const {
  const ProblemSize size = problem_size(kernel);
  if (size.axes == 0 || !family.grows_with_problem()) return alone;
  SizeLattice& layer = layer_of(family, kernel, gpu, size.axes);
  Search search(family, kernel, gpu, ask, layer);
  SizeLattice::Point below{}, above{};
  std::array<double, size_axes_max> past{};
  for (std::size_t axis = 0; axis < size.axes; ++axis) {
    const double steps = layer.steps_to(size.sizes[axis]);
    below[axis] = static_cast<int>(std::floor(steps));
    above[axis] = static_cast<int>(std::ceil(steps));
    past[axis] = steps - below[axis];
  }
  double excess = 0;
  for (unsigned corner = 0; corner < 1U << size.axes; ++corner) {
    SizeLattice::Point point = below;
    double weight = 1;
    for (std::size_t axis = 0; axis < size.axes; ++axis) {
      const bool is_above = (corner >> axis & 1U) != 0;
      point[axis] = is_above ? above[axis] : below[axis];
      weight *= is_above ? past[axis] : 1 - past[axis];
    }
    if (weight > 0) excess += weight * search.excess(point);
  }
  const double found = alone * std::exp(-excess);
  if (!size.is_whole) return found;
  // Neighbours that were held to one price differ in its last digits, in either direction.
  constexpr double rounding = 1e-9;
  const double least = search.held(below), most = search.held(above);
  if (least <= 0 || least > most * (1 + rounding)) return found;
  return std::clamp(found, std::min(least, most), most);
}

}  // namespace foretoken
