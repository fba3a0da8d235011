// How a mixture-of-experts step loads the rank that the layer waits for: assignments, experts with
// work, and how much filling experts up to tiles of rows adds. Shared by the MoE estimator
// families; nothing is allocated except for routings given by histogram or balancedness.
//
// A power law is read as AIConfigurator's benchmark collector means it (collector/helper.py,
// 095f58a5): each expert's popularity is drawn from a density x^-exponent over
// [1, 0.8 tokens] (over [0.01, 2] where there are no more assignments than experts), scaled to the
// assignments, rounded, at most one a token; consecutive experts share a rank and the busiest rank
// is measured. Near exponent 1 that is log-uniform and far flatter than Zipf's p_i ~ i^-exponent.
// What it leaves out: the draw's luck. Quantiles stand in for draws, so equal steps cost the same.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/kernel.hpp"

namespace foretoken {

/// Rows a tile: what padding is counted for.
inline constexpr std::array<int, 6> moe_tile_rows = {8, 16, 32, 64, 128, 256};

struct ExpertLoad {
  double held = 0;         // experts whose weights the rank has
  double assignments = 0;  // (token, expert) pairs on the rank
  double active = 0;       // experts with at least one
  double largest = 0;      // assignments of the busiest expert
  /// Tiles that cover every expert's assignments, by moe_tile_rows.
  std::array<double, moe_tile_rows.size()> tiles{};

  /// Tiles of `rows` rows; `rows` is one of moe_tile_rows.
  [[nodiscard]] double tiles_of(int rows) const;
  /// `experts` experts with `assignments` each.
  void add(double experts, double assignments);
};

ExpertLoad busiest_rank_load(const FusedMoe& kernel);

}  // namespace foretoken
