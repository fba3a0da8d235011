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
  const auto at = [&](std::int64_t end) -> const Row& {
    const auto known = layer.find(end);
    if (known != layer.end()) return known->second;
    const Kernel row = family.with_rows(kernel, end);
    const Row asked{within_physics(price(row), row, gpu), least_time(row, gpu).time};
    return layer.emplace(end, asked).first->second;
  };
  std::int64_t end = family.row_end(kernel, gpu);
  Prediction found = at(end).alone;
  while (end < rows_max) {
    end = family.row_end(family.with_rows(kernel, end + 1), gpu);
    const Row& larger = at(end);
    if (larger.least >= found.time) break;
    found.time = std::min(found.time, larger.alone.time);
  }
  return found;
}

}  // namespace foretoken
