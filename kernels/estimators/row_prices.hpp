// Prices of kernels whose rows are computed in tiles (EstimatorFamily::row_end). Networks learn
// from tables of a few sizes, and answer a little more or less at the sizes between them; a launch
// knows no such steps. So all sizes that end in one row of tiles have one price, and no size has a
// higher price than one with more rows, which a launch could be padded to. Each row of tiles of a
// layer is asked for once. Along its other sizes (a product's columns and the length of its sums) a
// row costs hardly less than those that are slightly smaller. Raised to these, prices stay where
// measurements are; lowered to larger ones they were further off (4-bit products 5.6 % in place of
// 5.1), since libraries choose kernels by rules that nobody has modelled.
// Not for use from several threads at once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "kernels/estimators/estimator.hpp"

namespace foretoken {

class RowPrices {
 public:
  /// What the family and its network say of one kernel.
  using Price = std::function<Prediction(const Kernel&)>;

  /// The price of a kernel whose family has rows of tiles: the lowest of `price` at the end of its
  /// row and of all further on, none below what its work takes at peak (least_time), and no more
  /// than 0.5 % below what that comes to for the next two smaller along each other size
  /// (EstimatorFamily::next_smaller). Exact over rows: more are asked for until that least time
  /// alone is no shorter.
  [[nodiscard]] Prediction find(const EstimatorFamily& family, const Kernel& kernel,
                                const GpuSpec& gpu, const Price& price) const;

 private:
  struct Row {
    Prediction alone;  // as `price` has it, and within physics
    Seconds least;
    std::optional<Seconds> held;  // the price, once somebody asked
  };
  using Layer = std::map<std::int64_t, Row>;  // by where the row ends
  // Not noexcept on purpose: libstdc++ then stores each node's hash instead of recomputing it.
  struct Hash {
    std::size_t operator()(const Kernel& kernel) const { return kernel_hash(kernel); }
  };

  Layer& layer_of(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& gpu) const;

  // A memo is no state that shows: find() answers the same with and without it.
  mutable GpuSpec gpu_;                                     // that layers_ are of
  mutable std::unordered_map<Kernel, Layer, Hash> layers_;  // by the kernel with one row
};

}  // namespace foretoken
