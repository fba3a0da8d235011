#include "kernels/estimators/row_prices.hpp"

#include <algorithm>

#include "hardware/known_part.hpp"
#include "kernels/roof.hpp"

namespace foretoken {
namespace {

/// A layer takes some 10 KB.
constexpr std::size_t row_layers_max = 4096;
/// Where no larger size is asked for.
constexpr std::int64_t rows_max = std::int64_t{1} << 32;
/// So many times as much as a larger one a smaller one may cost: most differences are less, and not
/// worth the questions.
constexpr double allowed_fall = 1.005;

/// What `kernel` costs that costs `time` in its own row of tiles: the lowest of that and of all
/// further rows, as far as it matters whether that is more than `enough`.
Seconds lowest(const EstimatorFamily& family, Kernel kernel, const GpuSpec& gpu, Seconds time,
               Seconds enough, const RowPrices::Price& price) {
  std::int64_t end = family.row_end(kernel, gpu);
  while (time > enough && end < rows_max) {
    end = family.row_end(family.with_rows(kernel, end + 1), gpu);
    kernel = family.with_rows(kernel, end);
    if (least_time(kernel, gpu).time >= time) break;
    time = std::min(time, within_physics(price(kernel), kernel, gpu).time);
  }
  return time;
}

/// The kernels that `row` is held to: the next two smaller along each of its other sizes. The same
/// for all numbers of rows: compared with others at each number, prices could fall as rows are
/// added.
template <class Visit>
void visit_smaller(const EstimatorFamily& family, const Kernel& row, Visit visit) {
  for (const int size : {0, 1}) {
    const auto next = family.next_smaller(row, size);
    if (!next) continue;
    visit(*next);
    if (const auto second = family.next_smaller(*next, size)) visit(*second);
  }
}

/// What `row` costs whose own rows say `own`: the most that smaller ones cost, but for what it may
/// cost less than these.
Seconds held(const EstimatorFamily& family, const Kernel& row, const GpuSpec& gpu, Seconds own,
             const RowPrices::Price& price) {
  Seconds most = own;
  visit_smaller(family, row, [&](const Kernel& smaller) {
    const Seconds there = within_physics(price(smaller), smaller, gpu).time;
    const Seconds enough = most * allowed_fall;
    most = std::max(most, lowest(family, smaller, gpu, there, enough, price) / allowed_fall);
  });
  return most;
}

}  // namespace

RowPrices::Layer& RowPrices::layer_of(const EstimatorFamily& family, const Kernel& kernel,
                                      const GpuSpec& gpu) const {
  if (layers_.size() >= row_layers_max || !same_part(gpu, gpu_)) {
    layers_.clear();
    gpu_ = gpu;
  }
  return layers_[family.with_rows(kernel, 1)];
}

Prediction RowPrices::find(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& gpu,
                           const Price& price) const {
  Layer& layer = layer_of(family, kernel, gpu);
  const auto at = [&](std::int64_t end) -> Row& {
    const auto known = layer.find(end);
    if (known != layer.end()) return known->second;
    const Kernel row = family.with_rows(kernel, end);
    const Row asked{within_physics(price(row), row, gpu), least_time(row, gpu).time, {}};
    return layer.emplace(end, asked).first->second;
  };
  std::int64_t end = family.row_end(kernel, gpu);
  Row& own = at(end);
  Prediction found = own.alone;
  if (own.held) {
    found.time = *own.held;
    return found;
  }
  const Kernel row = family.with_rows(kernel, end);
  while (end < rows_max) {
    end = family.row_end(family.with_rows(kernel, end + 1), gpu);
    const Row& larger = at(end);
    if (larger.least >= found.time) break;
    found.time = std::min(found.time, larger.alone.time);
  }
  own.held = found.time = held(family, row, gpu, found.time, price);
  return found;
}

}  // namespace foretoken
