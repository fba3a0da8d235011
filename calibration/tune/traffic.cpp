#include "calibration/tune/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

#include "calibration/tune/serving.hpp"
#include "workloads/generator.hpp"

namespace foretoken::tune {
namespace {

/// Tokens or rows first; nullopt for kernels whose cost follows from more.
std::optional<std::vector<double>> sizes_of(const Kernel& kernel) {
  const auto numbers = [](auto... sizes) {
    return std::vector<double>{static_cast<double>(sizes)...};
  };
  return std::visit(
      [&](const auto& one) -> std::optional<std::vector<double>> {
        using One = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<One, Gemm>) {
          return numbers(one.m, one.n, one.k);
        } else if constexpr (std::is_same_v<One, Rope>) {
          return numbers(one.tokens, one.heads, one.head_dim);
        } else if constexpr (std::is_same_v<One, RmsNorm> || std::is_same_v<One, FusedAddRmsNorm> ||
                             std::is_same_v<One, SiluAndMul> || std::is_same_v<One, Embedding>) {
          return numbers(one.tokens, one.dim);
        } else {
          return std::nullopt;
        }
      },
      kernel);
}

/// The factor that the sizes are off by together, 1 or more.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(std::log(a[i] / b[i]));
  return std::exp(sum);
}

}  // namespace

Traffic::Traffic(const std::string& steps, const std::string& model, int tensor_parallel,
                 Objective objective)
    : objective_(objective) {
  std::map<Batch, Counts> batches;
  double tokens = 0;
  for (const TrafficStep& step : read_traffic_steps(steps, objective)) {
    seconds_ += step.weight * step.seconds;
    tokens += step.decodes;
    ++units_;
    Counts& counts = batches[{step.tokens, step.logit_rows}];
    ++counts.launches;
    counts.weight += step.weight;
  }
  if (objective == Objective::tpot) units_ = tokens;
  add_launches(load_model(model, {"--traffic-model", 0, 0}), tensor_parallel, batches);
}

void Traffic::add_launches(const Transformer& model, int tensor_parallel,
                           const std::map<Batch, Counts>& batches) {
  ParallelLayout layout;
  layout.tensor = tensor_parallel;
  Diagnostics diagnostics;
  check_layout(model, layout, {"--traffic-tp", 0, 0}, diagnostics);
  diagnostics.throw_if_any();
  const StageProgram program(model, layout, ExecutionSettings{}, 0);
  for (const auto& [sizes, counts] : batches) {
    BatchShape batch;
    batch.tokens = sizes.first;
    batch.logit_rows = sizes.second;
    batch.attention = AttentionLoad::exact({SequenceSlice{sizes.first, sizes.first}});
    for (const KernelCall& call : program.kernels(batch)) {
      if (!sizes_of(call.kernel)) continue;
      launches_.emplace_back(call.kernel,
                             Counts{counts.launches * call.calls, counts.weight * call.calls});
    }
  }
}

TrafficShare Traffic::weigh(Problem& problem) const {
  TrafficShare share;
  if (!problem.serving) return share;
  std::vector<Kernel> shapes;
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    shapes.push_back(serving_kernel(problem, i));
  }
  if (!sizes_of(shapes.front())) return share;
  std::vector<double> weights(shapes.size(), 0);
  double log_distance = 0;
  for (const auto& [kernel, counts] : launches_) {
    if (kernel.index() != shapes.front().index()) continue;
    const std::vector<double> sizes = *sizes_of(kernel);
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const double off = distance(sizes, *sizes_of(shapes[i]));
      if (off < least) {
        least = off;
        nearest = i;
      }
    }
    if (least >= reach) {
      share.left_out += counts.launches;
      continue;
    }
    weights[nearest] += counts.weight;
    share.launches += counts.launches;
    log_distance += counts.launches * std::log(least);
  }
  if (share.launches == 0) return share;
  share.distance = std::exp(log_distance / share.launches);
  problem.weights = std::move(weights);
  return share;
}

bool Traffic::take_shapes(Problem& problem, std::size_t most) const {
  if (!problem.serving || problem.dimensions.size() != 2) return false;
  const std::size_t type = serving_kernel(problem, 0).index();
  // Which dimension is which size: {tokens = "rows", dim = "columns"}.
  std::vector<std::size_t> size_of(2, 2);
  for (const Serving::Size& size : problem.serving->sizes) {
    for (std::size_t i = 0; i < size_of.size(); ++i) {
      if (size.is_list || size.values != std::vector{problem.dimensions[i]}) continue;
      size_of[i] = size.key == "tokens" ? 0 : size.key == "dim" ? 1 : 2;
    }
  }
  if (std::ranges::max(size_of) > 1 || size_of[0] == size_of[1]) return false;
  std::map<Shape, double> moved;  // rows x width x launches
  for (const auto& [kernel, counts] : launches_) {
    if (kernel.index() != type) continue;
    const std::vector<double> sizes = *sizes_of(kernel);
    Shape shape;
    for (const std::size_t size : size_of) shape.push_back(std::llround(sizes[size]));
    moved[shape] += counts.weight * sizes[0] * sizes[1];
  }
  if (moved.empty()) return false;
  std::vector<std::pair<Shape, double>> ordered(moved.begin(), moved.end());
  std::ranges::stable_sort(ordered, std::greater<>{}, &std::pair<Shape, double>::second);
  ordered.resize(std::min(ordered.size(), most));
  problem.shapes.clear();
  for (auto& [shape, bytes] : ordered) problem.shapes.push_back(shape);
  std::ranges::sort(problem.shapes);  // the last one's launches stand for the problem's resources
  return true;
}

}  // namespace foretoken::tune
