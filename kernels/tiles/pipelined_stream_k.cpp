// The price of a Stream-K grid. Beside the pipelined tile: runs that cut tiles, partners that are
// waited for and added up, and CTAs that no longer read the same slices at the same time.
#include <algorithm>
#include <cmath>

#include "kernels/tiles/pipelined_parts.hpp"

namespace foretoken {

using namespace pipelined;

namespace {

/// How the longest run of slices meets tiles.
struct Runs {
  double slices = 1;       // of the longest run
  double tiles = 1;        // that it has a part of, at most
  double partners = 0;     // runs beside the first that share a tile, at most
  bool is_aligned = true;  // all runs begin at the same depth of their tiles
};

bool divides(double divisor, double number) { return std::fmod(number, divisor) == 0; }

Runs runs_of(double tiles, double tile_slices, double grid) {
  const double all = tiles * tile_slices;
  Runs runs;
  runs.slices = ceil_div(all, grid);
  const bool is_even = divides(grid, all);
  if (is_even && divides(tile_slices, runs.slices)) {
    runs.tiles = runs.slices / tile_slices;
    return runs;
  }
  if (is_even && divides(runs.slices, tile_slices)) {
    runs.partners = tile_slices / runs.slices - 1;
    return runs;
  }
  // A run of r slices that begins anywhere touches (r - 2) / s + 2 tiles of s slices at most.
  const auto touched = [](double run, double piece) {
    return whole(std::max(0.0, run - 2) / piece) + 2;
  };
  runs.tiles = std::min(tiles, touched(runs.slices, tile_slices));
  runs.partners = touched(tile_slices, runs.slices) - 1;
  runs.is_aligned = false;
  return runs;
}

/// Bytes that DRAM delivers again where CTAs of a row or column of tiles are at different depths:
/// an operand that L2 does not hold is read by each of them.
double unaligned_bytes(const PipelinedProduct& product, const PipelinedTile& tile,
                       const TileGrid& grid, double at_a_time, const TileMachine& machine,
                       const TileConstants& constants) {
  const auto rows = static_cast<int>(std::min<std::int64_t>(tile.tile.group_m, grid.rows));
  const Round round = first_round(grid, at_a_time, rows);
  const double kept = constants.l2_kept * machine.l2_size * machine.dies;
  const auto again = [&](double operand, double readers) {
    return std::clamp(operand / kept - 0.5, 0.0, 1.0) * operand * (readers - 1);
  };
  return constants.unaligned *
         (again(product.operand_a, round.columns) + again(product.operand_b, round.rows));
}

}  // namespace

double stream_k_cycles(const TiledProduct& sizes, const ProductTile& tile, std::int64_t grid,
                       const TileMachine& machine, const TileConstants& constants) {
  const PipelinedProduct product(sizes, machine, constants);
  const PipelinedTile facts(sizes, tile, machine, constants);
  const TileGrid tiling = tile_grid(sizes, tile);
  const double tiles = static_cast<double>(tiling.tiles()) * product.batch;
  const double slices = ceil_div(static_cast<double>(sizes.k), tile.k);
  const auto ctas = static_cast<double>(grid);
  const Runs runs = runs_of(tiles, slices, ctas);
  const double active = std::min<double>(ctas, machine.units);
  double loaded =
      product.batch * dram_bytes(product, facts, tile.group_m, 1, tiling, machine, constants);
  if (!runs.is_aligned) {
    const double at_a_time =
        std::min({static_cast<double>(tiling.tiles()), ctas, machine.units * facts.together});
    loaded +=
        product.batch * unaligned_bytes(product, facts, tiling, at_a_time, machine, constants);
  }
  const double missed = std::min(1.0, loaded / (ctas * runs.slices * facts.bytes));
  Unit unit = unit_of(product, facts, 1, active, missed, runs.slices, machine, constants);
  unit.beside += (runs.tiles - 1) * (constants.next_tile * constants.tile + facts.values);
  double cycles = rounds_cycles(rounds_of(ctas, facts.together, machine), facts,
                                [&](double together) { return unit.cta(together); });
  if (runs.partners > 0) {
    constexpr double partial = 4;  // bytes
    const double even = machine.units / machine.l2_rate;
    cycles += constants.partner +
              runs.partners * constants.partner_bytes * tile.m * tile.n * partial * even;
  }
  const double products = tiles * slices * facts.matrix / machine.units;
  cycles = overlapped(cycles, products / constants.sustained);
  cycles = loosely_overlapped(cycles, dram_cycles(product, facts, loaded));
  return cycles * constants.scale;
}

}  // namespace foretoken
