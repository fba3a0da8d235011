#include "kernels/selection/pipelined_tile.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/selection/tile_candidates.hpp"

namespace foretoken {
namespace {

double ceil_div(double a, double b) { return std::ceil(a / b); }

/// Two that overlap, and disturb each other where they are alike.
double overlapped(double a, double b) {
  const double larger = std::max(a, b), ratio = std::min(a, b) / larger;
  const double squared = ratio * ratio;
  return larger * std::sqrt(std::sqrt(1 + squared * squared));
}
double loosely_overlapped(double a, double b) { return std::sqrt(a * a + b * b); }

struct Round {
  double rows = 1, columns = 1;  // of tiles that CTAs work on at a time
  double tiles = 1;
};

/// The first CTAs in launch order: groups of `group` rows, down the rows first.
Round first_round(const TileGrid& grid, double tiles, int group) {
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

/// What CTAs load, and from where.
struct Loads {
  double slice;   // bytes of a CTA and slice
  double thin;    // times the traffic, where rows of a slice are no whole lines
  double active;  // units that load
  double missed;  // share of all loads that DRAM delivers
};

/// What a slice takes of a unit, in cycles of each of its parts.
struct Unit {
  double math, shared;
  double burst;  // of L2, by what one unit can draw
  double drawn;  // of L2, by what all can draw together
  double latency, overhead;
  double stages, steps, beside;

  [[nodiscard]] double slice(double together) const {
    // A slice is asked for stages - 1 slices ahead: in that time it comes, is used and given back.
    const double chain =
        (latency + loosely_overlapped(together * burst, math) + overhead) / (stages - 1);
    const double busiest =
        std::max(math + overhead, together * std::max({math, shared, burst, drawn}));
    return overlapped(chain, busiest);
  }
  /// A CTA that shares the unit with together - 1 others.
  [[nodiscard]] double cta(double together) const { return beside + steps * slice(together); }
};

constexpr double line = 128;  // bytes

Unit unit_of(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine,
             const TileConstants& constants, const Loads& loads) {
  const bool is_group = machine.is_group_product(tile);
  const MatrixInstruction& instruction = machine.instruction_for(tile);
  Unit unit{};
  unit.math = math_cycles(tile, instruction);
  if (is_group) {
    unit.math /= constants.group_math;
    unit.overhead = constants.slice + (tile.warps > 4 ? constants.wide_slice : 0);
  } else {
    // Few rows leave a warp few sums: each product waits for the one before.
    unit.math = std::max(unit.math, constants.warp_step * tile.k / instruction.k);
    unit.overhead = constants.warp_slice;
  }
  unit.shared = constants.shared * shared_cycles(product, tile, machine);
  const double even = machine.units / machine.l2_rate;  // cycles a byte
  const double bytes = loads.thin * loads.slice * even;
  unit.burst = bytes / constants.l2_burst * (1 + constants.miss_cost * loads.missed);
  if (product.m < tile.m) {
    unit.burst += constants.hot_line * loads.active * tile.m / static_cast<double>(product.m) *
                  std::ceil(tile.k * product.a_bytes / line);
  }
  unit.drawn = bytes / constants.l2_share * loads.active / machine.units;
  unit.latency = constants.latency;
  unit.stages = std::max(2, tile.stages);
  unit.beside = constants.tile + constants.result * tile.m * tile.n * (tile.split_k > 1 ? 2 : 1);
  return unit;
}

/// Bytes that DRAM delivers: operands once, again where CTAs that share columns start far apart,
/// and again in further rounds as far as L2 does not keep them.
double dram_bytes(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine,
                  const TileConstants& constants, const TileGrid& grid, double together) {
  const double depth = static_cast<double>(product.k);
  const double a = static_cast<double>(product.m) * depth * product.a_bytes;
  const double b = static_cast<double>(product.n) * depth * product.b_bytes;
  const auto rows = static_cast<double>(grid.rows), columns = static_cast<double>(grid.columns);
  const double at_a_time =
      std::min(rows * columns, std::max(1.0, machine.units * together / tile.split_k));
  const double group = std::min<double>(std::max(tile.group_m, 1), rows);
  const Round round = first_round(grid, at_a_time, static_cast<int>(group));
  const double slab = group * columns;  // CTAs from one group of rows to the next
  double far = 0;
  if (rows > group) {
    far = std::min(1.0, slab / constants.far_columns) *
          std::clamp(at_a_time / slab - 1, 0.0, rows / group - 1);
  }
  const double rounds = std::max(1.0, rows * columns / at_a_time);
  const double each =
      (round.rows * tile.m * product.a_bytes + round.columns * tile.n * product.b_bytes) * depth;
  const double kept = constants.l2_kept * machine.l2_size * machine.dies;
  const double missed = std::clamp((a + b) / kept - 0.5, 0.0, 1.0);
  return a + b * (1 + far) + constants.reread * missed * std::max(0.0, each * rounds - a - b);
}

}  // namespace

TileLatency pipelined_tile(const TiledProduct& product, const ProductTile& tile,
                           const TileMachine& machine, const TileConstants& constants) {
  const TileGrid grid = tile_grid(product, tile);
  const auto batch = static_cast<double>(product.batch);
  const double ctas = static_cast<double>(grid.tiles()) * batch * tile.split_k;
  const double slices = ceil_div(static_cast<double>(product.k), tile.k);
  const double together = resident_ctas(product, tile, machine);
  TileLatency out;
  out.steps = ceil_div(slices, tile.split_k);
  out.active = std::min<double>(ctas, machine.units);

  Loads loads{};
  const double row = tile.k * std::min(product.a_bytes, product.b_bytes);
  loads.thin = row < line ? std::pow(line / row, constants.thin_row) : 1;
  loads.slice = (tile.m * product.a_bytes + tile.n * product.b_bytes) * tile.k;
  loads.active = out.active;
  const double loaded = batch * dram_bytes(product, tile, machine, constants, grid, together);
  loads.missed = std::min(1.0, loaded / (ctas * out.steps * loads.slice));
  Unit unit = unit_of(product, tile, machine, constants, loads);
  unit.steps = out.steps;

  // Of the busiest unit: CTAs side by side as long as there are enough, then the rest. The first
  // round spreads over all units. CTAs of a later one go where others end: two that end as one are
  // followed by two, and the last units run packed while others idle.
  const double busiest = ceil_div(ctas, machine.units);
  const double full = std::floor(busiest / together), rest = busiest - full * together;
  out.rounds = full + (rest > 0 ? 1 : 0);
  double cycles = full > 0 ? full * unit.cta(together) : 0;
  if (rest > 0) {
    const double packed = full == 0 ? 0 : tile.warps > 4 ? constants.wide_packed : constants.packed;
    cycles += unit.cta(rest + std::min(packed, 1.0) * (together - rest));
  }
  // Long products run into the power limit, all units busy.
  const double products = static_cast<double>(grid.tiles()) * batch * slices *
                          math_cycles(tile, machine.instruction_for(tile)) / machine.units;
  cycles = overlapped(cycles, products / constants.sustained);
  const double result = static_cast<double>(product.m) * static_cast<double>(product.n) * batch;
  const double dram =
      (loads.thin * loaded + result * product.d_bytes / 2) / (machine.dram_rate * constants.dram);
  cycles = loosely_overlapped(cycles, dram);
  if (tile.split_k > 1) {
    constexpr double partial = 4;  // bytes
    cycles += constants.reduce +
              constants.reduce_bytes * result * partial * (tile.split_k + 1) / machine.dram_rate;
  }
  const double at_once = std::min(together, busiest);
  out.math = at_once * unit.math;
  out.shared = at_once * unit.shared;
  out.l2 = at_once * std::max(unit.burst, unit.drawn);
  out.dram = dram / std::max(1.0, out.rounds * out.steps);
  out.memory = std::max(out.l2, out.dram);
  out.l2_hit = 1 - loads.missed;
  out.prologue = unit.latency;
  out.epilogue = unit.beside;
  out.tile = unit.cta(at_once);
  out.total = cycles * constants.scale;
  return out;
}

int square_group(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine) {
  constexpr std::int64_t group_max = 16;
  const std::int64_t rows = (product.m + tile.m - 1) / tile.m;
  double wanted = static_cast<double>(std::min(rows, group_max));
  if (rows > group_max) {
    wanted = std::min(wanted, std::sqrt(static_cast<double>(machine.units) * tile.n / tile.m));
  }
  int group = 1;
  while (group < wanted) group *= 2;
  return group;
}

int cheapest_group(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine,
                   const TileConstants& constants) {
  const TileGrid grid = tile_grid(product, tile);
  if (grid.rows == 1 || grid.columns == 1) return 1;
  const double together = resident_ctas(product, tile, machine);
  ProductTile grouped = tile;
  int best = 1;
  double fewest = -1;
  for (int group = 1; group <= 16; group *= 2) {
    grouped.group_m = group;
    const double bytes = dram_bytes(product, grouped, machine, constants, grid, together);
    if (fewest < 0 || bytes < fewest) {
      fewest = bytes;
      best = group;
    }
    if (group >= grid.rows) break;
  }
  return best;
}

}  // namespace foretoken
