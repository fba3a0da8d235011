#include "kernels/tiles/pipelined_tile.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/tiles/pipelined_parts.hpp"
#include "kernels/tiles/tile_candidates.hpp"

namespace foretoken {

using namespace pipelined;

namespace {

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
  const double row = tile.k * std::min(format.a_bytes, format.b_bytes);
  if (machine.is_group_product(tile)) {
    // Shared memory is laid out in lines: half of one a row halves what instructions find at once.
    math = matrix / constants.group_math * (row < line ? constants.thin_math : 1);
    overhead = constants.slice + (tile.warps > 4 ? constants.wide_slice : 0);
  } else {
    // Few rows leave a warp few sums: each product waits for the one before.
    math = std::max(matrix, constants.warp_step * tile.k / instruction.k);
    overhead = constants.warp_slice;
  }
  shared = constants.shared * shared_cycles(format, tile, machine);
  thin = row < line ? std::pow(line / row, constants.thin_row) : 1;
  short_rows = row < 2 * line ? std::pow(2 * line / row, constants.short_row) : 1;
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
