#include "kernels/selection/pipelined_tile.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/selection/tile_candidates.hpp"

namespace foretoken {
namespace {

/// Of numbers from 0 to 2^53, without a call of the library: x86-64 as it was first has no
/// instruction for it.
double whole(double value) { return static_cast<double>(static_cast<std::int64_t>(value)); }
double ceil_div(double a, double b) {
  const double quotient = a / b, below = whole(quotient);
  return below < quotient ? below + 1 : below;
}

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

constexpr double line = 128;  // bytes

/// `missed`: the share of all loads that DRAM delivers.
Unit unit_of(const PipelinedProduct& product, const PipelinedTile& tile, int split_k, double active,
             double missed, double steps, const TileMachine& machine,
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
double dram_bytes(const PipelinedProduct& product, const PipelinedTile& facts, int group_m,
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
Rounds rounds_of(double ctas, double together, const TileMachine& machine) {
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
double rounds_cycles(const Rounds& rounds, const PipelinedTile& tile, const Cta& cta) {
  double cycles = rounds.full > 0 ? rounds.full * cta(tile.together) : 0;
  if (rounds.rest > 0) {
    const double packed = rounds.full == 0 ? 0 : tile.packed;
    cycles += cta(rounds.rest + std::min(packed, 1.0) * (tile.together - rounds.rest));
  }
  return cycles;
}

/// Both operands and the result, at DRAM's rate.
double dram_cycles(const PipelinedProduct& product, const PipelinedTile& tile, double loaded) {
  return (tile.thin * loaded + product.result_bytes) / product.dram_rate;
}

/// Of the kernel that adds the parts of the depth.
double reduction_cycles(const PipelinedProduct& product, int split_k, const TileMachine& machine,
                        const TileConstants& constants) {
  constexpr double partial = 4;  // bytes
  return constants.reduce +
         constants.reduce_bytes * product.result * partial * (split_k + 1) / machine.dram_rate;
}

struct Priced {
  Unit unit;
  Rounds rounds;
  double active, missed, dram, total;
};

Priced price(const PipelinedProduct& product, const PipelinedTile& tile, int group_m, int split_k,
             const TileMachine& machine, const TileConstants& constants) {
  const TileGrid grid = tile_grid(product.sizes, tile.tile);
  const double tiles = static_cast<double>(grid.tiles()) * product.batch;
  const double ctas = tiles * split_k;
  const double slices = ceil_div(static_cast<double>(product.sizes.k), tile.tile.k);
  const double steps = ceil_div(slices, split_k);
  Priced out{};
  out.active = std::min<double>(ctas, machine.units);
  const double loaded =
      product.batch * dram_bytes(product, tile, group_m, split_k, grid, machine, constants);
  out.missed = std::min(1.0, loaded / (ctas * steps * tile.bytes));
  out.unit = unit_of(product, tile, split_k, out.active, out.missed, steps, machine, constants);
  out.rounds = rounds_of(ctas, tile.together, machine);
  double cycles =
      rounds_cycles(out.rounds, tile, [&](double together) { return out.unit.cta(together); });
  // Long products run into the power limit, all units busy.
  const double products = tiles * slices * tile.matrix / machine.units;
  cycles = overlapped(cycles, products / constants.sustained);
  out.dram = dram_cycles(product, tile, loaded);
  cycles = loosely_overlapped(cycles, out.dram);
  if (split_k > 1) cycles += reduction_cycles(product, split_k, machine, constants);
  out.total = cycles * constants.scale;
  return out;
}

}  // namespace

PipelinedTile::PipelinedTile(const TiledProduct& format, const ProductTile& of,
                             const TileMachine& machine, const TileConstants& constants)
    : tile(of) {
  together = resident_ctas(format, tile, machine);
  const MatrixInstruction& instruction = machine.instruction_for(tile);
  matrix = math_cycles(tile, instruction);
  if (machine.is_group_product(tile)) {
    math = matrix / constants.group_math;
    overhead = constants.slice + (tile.warps > 4 ? constants.wide_slice : 0);
  } else {
    // Few rows leave a warp few sums: each product waits for the one before.
    math = std::max(matrix, constants.warp_step * tile.k / instruction.k);
    overhead = constants.warp_slice;
  }
  shared = constants.shared * shared_cycles(format, tile, machine);
  const double row = tile.k * std::min(format.a_bytes, format.b_bytes);
  thin = row < line ? std::pow(line / row, constants.thin_row) : 1;
  bytes = (tile.m * format.a_bytes + tile.n * format.b_bytes) * tile.k;
  const double even = machine.units / machine.l2_rate;  // cycles a byte
  const double drawn_bytes = thin * bytes * even;
  burst = drawn_bytes / constants.l2_burst;
  drawn = drawn_bytes / constants.l2_share;
  ahead = std::max(2, tile.stages) - 1;
  values = constants.result * tile.m * tile.n;
  lines = std::ceil(tile.k * format.a_bytes / line);
  packed = tile.warps > 4 ? constants.wide_packed : constants.packed;
}

PipelinedProduct::PipelinedProduct(const TiledProduct& product, const TileMachine& machine,
                                   const TileConstants& constants)
    : sizes(product), batch(static_cast<double>(product.batch)) {
  const auto m = static_cast<double>(product.m), n = static_cast<double>(product.n);
  const auto depth = static_cast<double>(product.k);
  operand_a = m * depth * product.a_bytes;
  operand_b = n * depth * product.b_bytes;
  result = m * n * batch;
  result_bytes = result * product.d_bytes / 2;
  const double kept = constants.l2_kept * machine.l2_size * machine.dies;
  missed = std::clamp((operand_a + operand_b) / kept - 0.5, 0.0, 1.0);
  dram_rate = machine.dram_rate * constants.dram;
}

double pipelined_cycles(const PipelinedProduct& product, const PipelinedTile& tile, int group_m,
                        int split_k, const TileMachine& machine, const TileConstants& constants) {
  return price(product, tile, group_m, split_k, machine, constants).total;
}

double pipelined_cycles_least(const PipelinedProduct& product, const PipelinedTile& tile,
                              double tiles, double slices, int split_k, const TileMachine& machine,
                              const TileConstants& constants) {
  // Each step is the model's own or one that is never more, and sums and roots round in order; the
  // margin covers steps that are equal but for rounding.
  constexpr double margin = 1 - 1e-12;
  const double ctas = tiles * split_k;
  const Unit unit = unit_of(product, tile, split_k, std::min<double>(ctas, machine.units), 0,
                            ceil_div(slices, split_k), machine, constants);
  double cycles = rounds_cycles(rounds_of(ctas, tile.together, machine), tile,
                                [&](double together) { return unit.cta_least(together); });
  const double products = tiles * slices * tile.matrix / machine.units;
  cycles = std::max(cycles, products / constants.sustained);
  const double loaded = product.batch * (product.operand_a + product.operand_b);
  cycles = loosely_overlapped(cycles, dram_cycles(product, tile, loaded));
  if (split_k > 1) cycles += reduction_cycles(product, split_k, machine, constants);
  return cycles * constants.scale * margin;
}

TileLatency pipelined_tile(const TiledProduct& sizes, const ProductTile& tile,
                           const TileMachine& machine, const TileConstants& constants) {
  const PipelinedProduct product(sizes, machine, constants);
  const PipelinedTile facts(sizes, tile, machine, constants);
  const auto [unit, rounds, active, missed, dram, total] =
      price(product, facts, tile.group_m, tile.split_k, machine, constants);
  TileLatency out;
  out.steps = unit.steps;
  out.active = active;
  out.rounds = rounds.full + (rounds.rest > 0 ? 1 : 0);
  const double at_once = std::min(facts.together, rounds.busiest);
  out.math = at_once * unit.math;
  out.shared = at_once * unit.shared;
  out.l2 = at_once * std::max(unit.burst, unit.drawn);
  out.dram = dram / std::max(1.0, out.rounds * out.steps);
  out.memory = std::max(out.l2, out.dram);
  out.l2_hit = 1 - missed;
  out.prologue = unit.latency;
  out.epilogue = unit.beside;
  out.tile = unit.cta(at_once);
  out.total = total;
  return out;
}

int largest_split(std::int64_t tiles, std::int64_t slices, const TileMachine& machine) {
  if (2 * tiles > 3 * machine.units) return 1;
  int split = 1;
  while (split < 8 && 2 * split * tiles <= 2 * machine.units && slices >= 4 * split) split *= 2;
  return split;
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

int cheapest_group(const TiledProduct& sizes, const ProductTile& tile, const TileMachine& machine,
                   const TileConstants& constants) {
  const TileGrid grid = tile_grid(sizes, tile);
  if (grid.rows == 1 || grid.columns == 1) return 1;
  const PipelinedProduct product(sizes, machine, constants);
  const PipelinedTile facts(sizes, tile, machine, constants);
  int best = 1;
  double fewest = -1;
  for (int group = 1; group <= 16; group *= 2) {
    const double bytes = dram_bytes(product, facts, group, tile.split_k, grid, machine, constants);
    if (fewest < 0 || bytes < fewest) {
      fewest = bytes;
      best = group;
    }
    if (group >= grid.rows) break;
  }
  return best;
}

}  // namespace foretoken
