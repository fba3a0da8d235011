// The model as tritonBLAS publishes it (Algorithms 3 to 9) and as Origami computed it in 2025
// (ROCm/rocm-libraries, shared/origami, AnalyticalGemm.cpp at 5687717c), integer divisions
// included. Where paper and source differ the source is followed, as it made the paper's figures:
// capacity takes rows away instead of scaling the hit rate, and the paper's "no heuristic tuning"
// leaves out a dozen factors on the rank of a tile (rank_cycles; latency() is free of them).
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/tiles/tile_model.hpp"
#include "kernels/tiles/tile_reuse.hpp"

namespace foretoken {
namespace {

constexpr double rounded_up_ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>((a + b - 1) / b);
}

struct Misalignment {
  double math = 1, memory = 1;
};

/// Rows of an operand that are no whole lines of 128 bytes cost extra.
Misalignment misalignment(const TiledProduct& product, const ProductTile& tile) {
  constexpr double line = 128;
  const auto is_ragged = [](double bytes) { return std::floor(bytes / line) * line != bytes; };
  const double a_row = tile.k * product.a_bytes, b_row = tile.k * product.b_bytes;
  const double a_column = tile.m * product.a_bytes, b_column = tile.n * product.b_bytes;
  const auto twice = [](bool first, bool second) {
    const double factor = (first ? 2.0 : 1.0) * (second ? 2.0 : 1.0);
    return Misalignment{factor, factor};
  };
  switch (product.layout) {
    case ProductLayout::tn:
      return {(is_ragged(a_row) ? 1.5 : 1.0) * (is_ragged(b_row) ? 1.5 : 1.0), 1.0};
    case ProductLayout::nt:
      return twice(is_ragged(a_column), is_ragged(b_column));
    case ProductLayout::tt:
      return twice(a_row < line, b_column < line);
    case ProductLayout::nn:
      return twice(a_column < line, b_row < line);
  }
  return {};
}

class Origami2025 final : public TileModel {
 public:
  [[nodiscard]] TileLatency latency(const TiledProduct& product, const ProductTile& tile,
                                    const TileMachine& machine) const override {
    TileLatency out = cycles(product, tile, machine);
    out.shared = shared_cycles(product, tile, machine);
    out.bottleneck = classify(out, machine, machine.curve_2025.share(out.active));
    return out;
  }

  /// All of the latency but what only explains it.
  static TileLatency cycles(const TiledProduct& product, const ProductTile& tile,
                            const TileMachine& machine) {
    const TileGrid grid = tile_grid(product, tile);
    const std::int64_t tiles = grid.tiles() * product.batch;
    const auto occupied = std::min<std::int64_t>(tiles, machine.units);  // Algorithm 4
    const int split = std::max(tile.split_k, 1);
    TileLatency out;
    out.rounds = rounded_up_ratio(tiles, machine.units);
    out.active = static_cast<double>(std::min<std::int64_t>(occupied * split, machine.units));
    const Misalignment penalty = misalignment(product, tile);
    out.math =
        std::floor(math_cycles(tile, machine.instruction_for(tile)) * penalty.math);  // Algorithm 3

    // Algorithm 5 and 6: the L2 of one die, and the cache behind all of them, which holds anything.
    const std::int64_t die_units = std::max<std::int64_t>(
        static_cast<std::int64_t>(rounded_up_ratio(occupied, machine.dies)), 1);
    out.l2_hit = hit_rate_2025(tile, cache_tile(grid, die_units, tile.group_m),
                               machine.l2_size / product.a_bytes);
    out.mall_hit =
        machine.mall_rate > 0 ? hit_rate_2025(tile, cache_tile(grid, occupied, 1), 0) : 0;

    // Algorithm 7.
    const double slice = static_cast<double>(tile.m) * tile.k * product.a_bytes +
                         static_cast<double>(tile.n) * tile.k * product.b_bytes;
    const double loads = slice * out.active;
    const double l2_rate = machine.l2_rate * out.active / machine.units;
    double behind_l2 = (1 - out.l2_hit) * loads;
    double behind_mall = (1 - out.mall_hit) * behind_l2;
    if (out.active < machine.units) {
      const double once = static_cast<double>(product.m) * tile.k * product.a_bytes +
                          static_cast<double>(product.n) * tile.k * product.b_bytes;
      const auto batch = static_cast<double>(product.batch);
      behind_l2 = std::max(behind_l2, once) * batch;
      behind_mall = std::max(behind_mall, once) * batch;
    }
    const double share = machine.curve_2025.share(out.active);
    out.l2 = loads / l2_rate;
    out.mall = machine.mall_rate > 0 ? behind_l2 / (machine.mall_rate * share) : 0;
    out.dram = behind_mall / (machine.dram_rate * share) + machine.dram_latency;
    out.memory = std::max({out.l2, out.mall, out.dram}) * penalty.memory;

    // Algorithm 8.
    const double result = static_cast<double>(tile.m) * tile.n * product.d_bytes;
    out.prologue = 1.5 * out.memory;
    out.epilogue = out.active * result / (l2_rate < 1 ? 10 : l2_rate);
    if (split > 1) {
      out.epilogue += 2 * out.active * result * (split - 1) / machine.dram_rate;
    }
    const auto slices = static_cast<std::int64_t>(rounded_up_ratio(product.k, tile.k));
    out.steps = static_cast<double>(std::max<std::int64_t>((slices - 1) / split, 1));
    constexpr double loop_overhead = 28;
    out.tile = std::max(out.math, out.memory) * out.steps + out.prologue + out.epilogue + 1 +
               loop_overhead * out.steps;
    out.total = out.tile * out.rounds;  // Algorithm 9
    return out;
  }

  [[nodiscard]] double rank_cycles(const TiledProduct& product, const ProductTile& tile,
                                   const TileMachine& machine) const override {
    ProductTile cut = tile;
    if (product.k > 16384) {  // a deep product on few units is cut without being asked
      const std::int64_t tiles = tile_grid(product, tile).tiles() * product.batch;
      if (tiles < machine.units) {
        cut.split_k = static_cast<int>(std::min<std::int64_t>(machine.units / tiles, 8));
      }
    }
    if (product.m <= 256 && product.n <= 256 && product.k < 1024 &&
        (tile.m < product.m || tile.n < product.n)) {
      return std::numeric_limits<double>::infinity();
    }
    return cycles(product, cut, machine).total * rules_of_thumb(product, tile, machine);
  }

  /// After the tile: the group with most L2 hits, then the split with the least latency.
  [[nodiscard]] ProductTile finished(const TiledProduct& product, const ProductTile& tile,
                                     const TileMachine& machine) const override {
    const TileGrid grid = tile_grid(product, tile);
    const std::int64_t occupied =
        std::min<std::int64_t>(grid.tiles() * product.batch, machine.units);
    const std::int64_t die_units = (occupied + machine.dies - 1) / machine.dies;
    ProductTile best = tile;
    double best_hit = -1;
    for (const int group : {1, 2, 3, 4, 5, 6, 8, 16}) {
      const double hit = hit_rate_2025(tile, cache_tile(grid, die_units, group),
                                       machine.l2_size / product.a_bytes);
      if (hit > best_hit) {
        best_hit = hit;
        best.group_m = group;
      }
    }
    return with_cheapest_split(*this, product, best, machine);
  }

  [[nodiscard]] double tie_cycles() const override { return 10; }
  [[nodiscard]] bool knows_pipelines() const override { return false; }

 private:
  /// Factors on the rank of a tile, all from the source, none explained there.
  static double rules_of_thumb(const TiledProduct& product, const ProductTile& tile,
                               const TileMachine& machine) {
    const MatrixInstruction& instruction = machine.instruction_for(tile);
    const auto is_power = [](int size) { return std::has_single_bit(static_cast<unsigned>(size)); };
    double factor = 1;
    if (tile.m == product.m || tile.n == product.n || tile.k == product.k) factor *= 0.5;
    if (!is_power(tile.m) && !is_power(tile.n)) factor *= 1.5;
    if (is_power(tile.m) && is_power(tile.n)) factor *= 0.9;
    if (product.a_bytes == 2) {
      for (const int size : {tile.m, tile.n}) {
        if (size > 32 && size % 32 != 0) factor *= 1.5;
      }
      if (std::max(tile.m, tile.n) >= 32) factor *= 0.9;
      if (tile.k == 128 && std::max(tile.m, tile.n) == 256 && std::min(tile.m, tile.n) == 16) {
        factor *= 2;
      }
    }
    if (product.a_bytes == 1 && tile.m == 256 && tile.n == 256 && tile.k == 128) factor *= 0.8;
    const double slices = rounded_up_ratio(product.k, tile.k);
    factor *= slices <= 1 ? 16 : slices <= 2 ? 8 : slices <= 4 ? 4 : slices <= 8 ? 2 : 1;
    if (product.m < instruction.m && instruction.m < tile.m) factor *= 4;
    if (product.n < instruction.n && instruction.n < tile.n) factor *= 4;
    if (product.k < instruction.k) factor *= rounded_up_ratio(tile.k, instruction.k);
    return factor;
  }
};

}  // namespace

std::unique_ptr<TileModel> make_origami_2025() { return std::make_unique<Origami2025>(); }

}  // namespace foretoken
