// How a mixture-of-experts step loads the rank that the layer waits for: assignments, experts with
// work, and how much filling experts up to tiles of rows adds. The one reading of a routing
// (routing.hpp) that rooflines, decomposers and estimators share; nothing is allocated except for
// routings given by histogram or balancedness, for experts placed by load, and for rows.
//
// With a power law ranks hold independent draws of the law, and the busiest is taken as the tables
// take it. What it leaves out: the draw's luck. Quantiles stand in for draws, so equal steps cost
// the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel.hpp"

namespace foretoken {

/// Rows a tile: what padding is counted for.
inline constexpr std::array<int, 7> moe_tile_rows = {8, 16, 32, 48, 64, 128, 256};

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

/// The rank with most assignments.
ExpertLoad busiest_rank_load(const FusedMoe& kernel);

/// Assignments of each of that rank's experts, rounded to whole rows.
std::vector<std::int64_t> busiest_rank_rows(const FusedMoe& kernel);

}  // namespace foretoken
