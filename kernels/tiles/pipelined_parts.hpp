// What the pipelined tile and its Stream-K form are priced from: a slice on a unit, rounds of CTAs,
// bytes from DRAM. Internal to the files pipelined_*.cpp; in a header because a search runs through
// them hundreds of times.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/tiles/pipelined_tile.hpp"

namespace foretoken::pipelined {

/// Of numbers from 0 to 2^53, without a call of the library: x86-64 as it was first has no
/// instruction for it.
inline double whole(double value) { return static_cast<double>(static_cast<std::int64_t>(value)); }
inline double ceil_div(double a, double b) {
  const double quotient = a / b, below = whole(quotient);
  return below < quotient ? below + 1 : below;
}

/// Two that overlap, and disturb each other where they are alike.
inline double overlapped(double a, double b) {
  const double larger = std::max(a, b), ratio = std::min(a, b) / larger;
  const double squared = ratio * ratio;
  return larger * std::sqrt(std::sqrt(1 + squared * squared));
}
inline double loosely_overlapped(double a, double b) { return std::sqrt(a * a + b * b); }

struct Round {
  double rows = 1, columns = 1;  // of tiles that CTAs work on at a time
  double tiles = 1;
};

/// The first CTAs in launch order: groups of `group` rows, down the rows first.
inline Round first_round(const TileGrid& grid, double tiles, int group) {
  const auto grid_rows = static_cast<double>(grid.rows);
  const auto grid_columns = static_cast<double>(grid.columns);
  Round round{.tiles = std::max(1.0, tiles)};
  round.rows = std::min({static_cast<double>(group), grid_rows, round.tiles});
  round.columns = round.tiles / round.rows;
  if (round.columns > grid_columns) {
    round.rows = std::min(grid_rows, round.tiles / grid_columns);
    round.columns = grid_columns;
  }
  return round;
}

/// What a slice takes of a unit, in cycles of each of its parts.
struct Unit {
  double math, shared;
  double burst;  // of L2, by what one unit can draw
  double drawn;  // of L2, by what all can draw together
  double latency, overhead, ahead;
  double steps, beside;

  [[nodiscard]] double busiest(double together) const {
    return std::max(math + overhead, together * std::max({math, shared, burst, drawn}));
  }
  [[nodiscard]] double slice(double together) const {
    // A slice is asked for some slices ahead: in that time it comes, is used and given back.
    const double chain = (latency + loosely_overlapped(together * burst, math) + overhead) / ahead;
    return overlapped(chain, busiest(together));
  }
  /// A CTA that shares the unit with together - 1 others.
  [[nodiscard]] double cta(double together) const { return beside + steps * slice(together); }

  [[nodiscard]] double cta_least(double together) const {
    const double chain = (latency + std::max(together * burst, math) + overhead) / ahead;
    return beside + steps * std::max(chain, busiest(together));
  }
};

inline constexpr double line = 128;  // bytes

/// `missed`: the share of all loads that DRAM delivers.
inline Unit unit_of(const PipelinedProduct& product, const PipelinedTile& tile, int split_k,
                    double active, double missed, double steps, const TileMachine& machine,
                    const TileConstants& constants) {
  Unit unit{};
  unit.math = tile.math;
  unit.shared = tile.shared;
  unit.overhead = tile.overhead;
  unit.burst = tile.burst * (1 + constants.miss_cost * missed);
  if (product.sizes.m < tile.tile.m) {
    unit.burst += constants.hot_line * active * tile.tile.m / static_cast<double>(product.sizes.m) *
                  tile.lines;
  }
  unit.drawn = tile.drawn * active / machine.units;
  unit.latency = constants.latency;
  unit.ahead = tile.ahead;
  unit.steps = steps;
  unit.beside = constants.tile + tile.values * (split_k > 1 ? 2 : 1);
  return unit;
}

/// Bytes that DRAM delivers for one product: operands once, again where CTAs that share columns
/// start far apart, and again in further rounds as far as L2 does not keep them.
inline double dram_bytes(const PipelinedProduct& product, const PipelinedTile& facts, int group_m,
                         int split_k, const TileGrid& grid, const TileMachine& machine,
                         const TileConstants& constants) {
  const ProductTile& tile = facts.tile;
  const double depth = static_cast<double>(product.sizes.k);
  const double a = product.operand_a, b = product.operand_b;
  const auto rows = static_cast<double>(grid.rows), columns = static_cast<double>(grid.columns);
  const double at_a_time =
      std::min(rows * columns, std::max(1.0, machine.units * facts.together / split_k));
  const double group = std::min<double>(std::max(group_m, 1), rows);
  const Round round = first_round(grid, at_a_time, static_cast<int>(group));
  const double slab = group * columns;  // CTAs from one group of rows to the next
  double far = 0;
  if (rows > group) {
    far = std::min(1.0, slab / constants.far_columns) *
          std::clamp(at_a_time / slab - 1, 0.0, rows / group - 1);
  }
  const double rounds = std::max(1.0, rows * columns / at_a_time);
  const double each = (round.rows * tile.m * product.sizes.a_bytes +
                       round.columns * tile.n * product.sizes.b_bytes) *
                      depth;
  return a + b * (1 + far) +
         constants.reread * product.missed * std::max(0.0, each * rounds - a - b);
}

/// Rounds of CTAs on the busiest unit.
struct Rounds {
  double busiest, full, rest;
};
inline Rounds rounds_of(double ctas, double together, const TileMachine& machine) {
  Rounds rounds{};
  rounds.busiest = ceil_div(ctas, machine.units);
  rounds.full = whole(rounds.busiest / together);
  rounds.rest = rounds.busiest - rounds.full * together;
  return rounds;
}

/// CTAs side by side as long as there are enough, then the rest. The first round spreads over all
/// units. CTAs of a later one go where others end: two that end as one are followed by two, and the
/// last units run packed while others idle.
template <class Cta>
inline double rounds_cycles(const Rounds& rounds, const PipelinedTile& tile, const Cta& cta) {
  double cycles = rounds.full > 0 ? rounds.full * cta(tile.together) : 0;
  if (rounds.rest > 0) {
    const double packed = rounds.full == 0 ? 0 : tile.packed;
    cycles += cta(rounds.rest + std::min(packed, 1.0) * (tile.together - rounds.rest));
  }
  return cycles;
}

/// Both operands and the result, at DRAM's rate.
inline double dram_cycles(const PipelinedProduct& product, const PipelinedTile& tile,
                          double loaded) {
  return (tile.short_rows * tile.thin * loaded + product.result_bytes) / product.dram_rate;
}

/// Of the kernel that adds the parts of the depth.
inline double reduction_cycles(const PipelinedProduct& product, int split_k,
                               const TileMachine& machine, const TileConstants& constants) {
  constexpr double partial = 4;  // bytes
  return constants.reduce +
         constants.reduce_bytes * product.result * partial * (split_k + 1) / machine.dram_rate;
}

}  // namespace foretoken::pipelined
