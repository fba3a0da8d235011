// The core of Origami's model of 2026 (ROCm/rocm-libraries, shared/origami, gemm.cpp at 02a39376
// and heuristics.hpp beside it): hit rates of each operand with warm-up, capacity and interference,
// a prefetch depth, tails of the depth, edges of the result and reductions. What belongs to Tensile
// and AMD alone is left out (cache hints, store widths by kernel name).
//
// Two readings are ours. Origami's slabs group columns; Triton's GROUP_M groups rows, so rows and
// columns change places here. And prefetch depth, which Triton does not name, is stages - 1.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/tiles/tile_model.hpp"
#include "kernels/tiles/tile_reuse.hpp"

namespace foretoken {
namespace {

// heuristics.hpp's defaults, in cycles unless said otherwise.
constexpr double loop_overhead = 500;     // a slice
constexpr double tail_overhead = 700;     // an instruction step of the depth's remainder
constexpr double tile_overhead = 1500;    // a tile
constexpr double launch_overhead = 9900;  // 4.5 us at 2.2 GHz
constexpr double dram_latency = 200;
constexpr double edge_check = 5;                      // a store instruction
constexpr double accumulator_drain = 0.9;             // a value of a lane
constexpr double occupancy_gain = 0.95;               // of a prologue, each further tile on a unit
constexpr double line_bytes = 64;                     // of a row of an operand
constexpr double reduce_fixed = 35 + 2 * 100 + 1900;  // each further part of the depth
constexpr int small_tile_values = 2048;

std::int64_t parts_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Distinct rows, columns and tiles of the result that one cache sees in the first round, and how
/// many CTAs share it.
struct Residents {
  double rows = 1, columns = 1, tiles = 1, ctas = 1;
};

Residents residents(const TileGrid& grid, std::int64_t ctas, int copies, int group_m) {
  const std::int64_t tiles =
      std::clamp<std::int64_t>(parts_of(ctas, copies), 1, std::max<std::int64_t>(grid.tiles(), 1));
  const SlabRange range =
      slab_range(0, tiles, grid.columns, grid.rows, std::max<std::int64_t>(group_m, 1));
  return {static_cast<double>(range.lanes), static_cast<double>(range.steps),
          static_cast<double>(range.pairs), static_cast<double>(ctas)};
}

struct HitRates {
  double a = 0, b = 0;
};

struct Operands {
  double a_slice = 0, b_slice = 0;  // bytes of one CTA and slice
  double a_row = 0, b_row = 0;      // bytes along the contiguous axis, of the whole product
};

/// `floor` + rest k²/(k² + half): a cache is cold for the first slices.
double warm_up(double slices, double floor, double half) {
  return floor + (1 - floor) * slices * slices / (slices * slices + half);
}

HitRates hit_rates(const Residents& here, const Operands& bytes, double capacity, double warm,
                   bool is_split_deep) {
  const double copies = std::max(1.0, here.ctas / here.tiles);
  const double load_a = here.rows * bytes.a_slice * copies;
  const double load_b = here.columns * bytes.b_slice * copies;
  const double interference = load_a * load_b / (load_a + load_b);
  const auto rate = [&](double load, double unique, double row_bytes) {
    const double reuse =
        std::max(0.0, 1 - unique * std::min(1.0, row_bytes / line_bytes) / here.tiles);
    const double wanted = load + interference;
    const double residency = std::min(1.0, capacity / wanted);
    const double pollution = residency < 1 ? 1 - 0.3 * interference / wanted : 1;
    return pollution * warm * residency * reuse * (is_split_deep ? 0.9 : 1);
  };
  return {rate(load_a, here.rows, bytes.a_row), rate(load_b, here.columns, bytes.b_row)};
}

/// Towards `target` by `headroom` squared, never down.
void boost(double& rate, double target, double headroom) {
  if (rate < target && headroom > 0) rate += (target - rate) * headroom * headroom;
}

class Origami2026 final : public TileModel {
 public:
  [[nodiscard]] TileLatency latency(const TiledProduct& product, const ProductTile& tile,
                                    const TileMachine& machine) const override {
    TileLatency out = cycles(product, tile, machine);
    out.shared = shared_cycles(product, tile, machine);
    out.bottleneck = classify(out, machine, machine.curve_2026.share(out.active));
    return out;
  }

  [[nodiscard]] double rank_cycles(const TiledProduct& product, const ProductTile& tile,
                                   const TileMachine& machine) const override {
    return cycles(product, tile, machine).total;
  }

  /// All of the latency but what only explains it.
  static TileLatency cycles(const TiledProduct& product, const ProductTile& tile,
                            const TileMachine& machine) {
    const Cut cut(product, tile, machine);
    TileLatency out;
    out.active = static_cast<double>(std::min<std::int64_t>(cut.ctas, machine.units));
    out.rounds = static_cast<double>(parts_of(std::max(cut.ctas, cut.tiles), machine.units));
    const MatrixInstruction& instruction = machine.instruction_for(tile);
    out.math = math_cycles(tile, instruction);
    const double share = machine.curve_2026.share(out.active);
    price_memory(cut, share, out);

    const double used = utilisation(cut);
    const double math = out.math / used;
    const double memory = out.memory;
    const int depth = std::max(1, tile.stages - 1);
    const double full = cut.slices;
    const double main_slices = std::max(0.0, full - depth);
    const double drain = std::max(0.0, std::min<double>(depth - 1, full - 1));
    const std::int64_t rounds = std::min<std::int64_t>(4, parts_of(cut.ctas, machine.units));
    double occupancy = 1;
    for (std::int64_t i = 0; i < rounds; ++i) occupancy *= occupancy_gain;
    out.prologue = full > 0 ? memory * occupancy : 0;
    const double loads = memory * main_slices, products = math * main_slices;
    double main = depth <= 1 ? loads + products : std::max(loads, products);
    main += drain * math + (full > 0 ? math : 0);
    const double tail = std::fmod(cut.k_part, tile.k);
    if (tail > 0) {
      main += tail / tile.k * memory + tail / tile.k * math +
              tail_overhead * std::ceil(tail / instruction.k);
    }
    if (depth > 1) {
      const double stalls = std::min(full, depth + 1 - main_slices);
      if (stalls > 0) main += stalls * memory * memory / (memory + math);
    }
    main += loop_overhead * full;
    const double waste = std::max(0.0, tile.k / cut.k_part - 1);
    main += waste * (std::max(math, memory) + loop_overhead);
    out.steps = full;
    out.epilogue = epilogue(cut);
    out.tile = out.prologue + main + out.epilogue + tile_overhead;
    out.total = out.tile * out.rounds + launch_overhead;
    return out;
  }

  /// The group as Origami predicts it, rows for columns.
  [[nodiscard]] ProductTile prepared(const TiledProduct& product, const ProductTile& tile,
                                     const TileMachine& machine) const override {
    ProductTile grouped = tile;
    grouped.group_m = group_m(product, tile, machine);
    return grouped;
  }

  [[nodiscard]] ProductTile finished(const TiledProduct& product, const ProductTile& tile,
                                     const TileMachine& machine) const override {
    return with_cheapest_split(*this, product, tile, machine);
  }

  [[nodiscard]] double tie_cycles() const override { return 10; }
  [[nodiscard]] bool knows_pipelines() const override { return false; }

 private:
  static int group_m(const TiledProduct& product, const ProductTile& tile,
                     const TileMachine& machine) {
    const TileGrid grid = tile_grid(product, tile);
    if (product.batch > 1 || grid.rows == 1 || grid.columns == 1) return 1;
    const auto root = static_cast<std::int64_t>(std::sqrt(machine.units));
    if (grid.rows > root && grid.columns > root) {
      return static_cast<int>(std::ceil(std::sqrt(machine.units / machine.dies)));
    }
    const std::int64_t ctas = grid.tiles() * std::max(tile.split_k, 1);
    const std::int64_t die_ctas =
        parts_of(std::min<std::int64_t>(ctas, machine.units), machine.dies);
    if (2 * die_ctas * machine.dies >= machine.units && grid.rows <= 8) {
      return static_cast<int>(grid.rows);
    }
    return cheapest_slab(product, tile, machine, grid, die_ctas);
  }

  struct Cut {
    Cut(const TiledProduct& p, const ProductTile& t, const TileMachine& m)
        : product(p), tile(t), machine(m), grid(tile_grid(p, t)), split(std::max(t.split_k, 1)) {
      tiles = grid.tiles() * p.batch;
      ctas = tiles * split;
      k_part = static_cast<double>(parts_of(p.k, split));
      const std::int64_t whole = p.k / t.k;
      slices = static_cast<double>(split > 1 ? parts_of(whole, split) : whole);
    }
    const TiledProduct& product;
    const ProductTile& tile;
    const TileMachine& machine;
    TileGrid grid;
    int split;
    std::int64_t tiles = 0, ctas = 0;
    double k_part = 0, slices = 0;
  };

  static double utilisation(const Cut& cut) {
    const auto padded = static_cast<double>(cut.grid.rows * cut.tile.m) *
                        static_cast<double>(cut.grid.columns * cut.tile.n) *
                        static_cast<double>(parts_of(cut.product.k, cut.tile.k) * cut.tile.k);
    return static_cast<double>(cut.product.m) * static_cast<double>(cut.product.n) *
           static_cast<double>(cut.product.k) / padded;
  }

  static Operands operands(const Cut& cut) {
    const auto whole_lines = [](double bytes) {
      return std::ceil(bytes / line_bytes) * line_bytes;
    };
    const auto rows = static_cast<double>(std::min<std::int64_t>(cut.product.m, cut.tile.m));
    const auto columns = static_cast<double>(std::min<std::int64_t>(cut.product.n, cut.tile.n));
    const double slices = std::max(1.0, cut.slices);
    const auto depth = static_cast<double>(cut.product.k);
    return {rows * whole_lines(cut.k_part * cut.product.a_bytes) / slices,
            columns * whole_lines(cut.k_part * cut.product.b_bytes) / slices,
            depth * cut.product.a_bytes, depth * cut.product.b_bytes};
  }

  /// Bytes of a slice, thinned level by level, over each level's rate.
  static void price_memory(const Cut& cut, double share, TileLatency& out) {
    const TileMachine& machine = cut.machine;
    const Operands bytes = operands(cut);
    const auto active = static_cast<std::int64_t>(out.active);
    const bool is_split_deep = cut.split > 1 && cut.tile.k * cut.product.a_bytes > 64;
    const int group = std::max(cut.tile.group_m, 1);
    const int copies = static_cast<int>(cut.split * cut.product.batch);
    const Residents die = residents(cut.grid, parts_of(active, machine.dies), copies, group);
    HitRates l2 =
        hit_rates(die, bytes, machine.l2_size, warm_up(cut.slices, 0.75, 4), is_split_deep);
    adjust(cut, bytes, die, l2);
    double a = out.active * bytes.a_slice, b = out.active * bytes.b_slice;
    out.l2_hit = (a * l2.a + b * l2.b) / (a + b);
    out.l2 = (a + b) / (machine.l2_rate * out.active / machine.units);
    a *= 1 - l2.a;
    b *= 1 - l2.b;
    if (machine.mall_rate > 0) {
      out.mall = (a + b) / (machine.mall_rate * share);
      const Residents all = residents(cut.grid, active, copies, group);
      const HitRates mall =
          hit_rates(all, bytes, machine.mall_size, warm_up(cut.slices, 0.85, 2), is_split_deep);
      out.mall_hit = a + b > 0 ? (a * mall.a + b * mall.b) / (a + b) : 0;
      a *= 1 - mall.a;
      b *= 1 - mall.b;
    }
    out.dram = (a + b) / (machine.dram_rate * share) + dram_latency;
    out.memory = std::max({out.l2, out.mall, out.dram});
  }

  /// Small working sets, deep splits and skinny products do better than the first estimate.
  static void adjust(const Cut& cut, const Operands& bytes, const Residents& die, HitRates& l2) {
    const double working = die.rows * bytes.a_slice + die.columns * bytes.b_slice;
    const double headroom = 1 - working / cut.machine.l2_size;
    const auto boost_both = [&](double target, double by) {
      boost(l2.a, target, by);
      boost(l2.b, target, by);
    };
    if (cut.product.batch > 1) boost_both(0.9, headroom);
    if (cut.split > 1 && cut.tiles < 5) boost_both(0.4, headroom);
    if (cut.grid.rows <= 2 && cut.grid.columns > 8 * cut.grid.rows) {
      constexpr double l1_size = 32 * 1024;
      boost_both(0.6, 1 - (bytes.a_slice + bytes.b_slice) / l1_size);
    }
  }

  /// Draining accumulators, checks at the edges, storing, and adding up parts of the depth. The
  /// slowest of an inner tile and those at the edges counts.
  static double epilogue(const Cut& cut) {
    const TileMachine& machine = cut.machine;
    const auto lanes = static_cast<double>(machine.lanes * cut.tile.warps);
    const double values = static_cast<double>(cut.tile.m) * cut.tile.n;
    constexpr double store_bytes = 16;  // of a lane
    const double stores = std::ceil(values * cut.product.d_bytes / (store_bytes * lanes));
    const auto ctas = static_cast<double>(std::min<std::int64_t>(cut.ctas, machine.units));
    const double rate = machine.l2_rate / ctas;
    constexpr double line = 128;
    const double row = static_cast<double>(cut.product.n) * cut.product.d_bytes;
    const bool is_ragged = std::floor(row / line) * line != row;
    const double written = values * cut.product.d_bytes * (is_ragged ? 1.1 : 1.0) / rate;
    const bool has_edge = cut.product.m % cut.tile.m != 0 || cut.product.n % cut.tile.n != 0;
    double cycles = accumulator_drain * values / lanes + (has_edge ? edge_check * stores : 0) +
                    written + stores;
    if (cut.split > 1) {
      const double partial = values * 4;
      double reduce = written + (cut.split - 1) * reduce_fixed + (cut.split - 1) * partial / rate +
                      (cut.split - 1) * values / machine.lanes + written;
      if (values <= small_tile_values) reduce *= 2;
      cycles += reduce;
    }
    return cycles;
  }

  /// The slab whose first block of CTAs, on the last die but one, asks for the fewest bytes.
  static int cheapest_slab(const TiledProduct& product, const ProductTile& tile,
                           const TileMachine& machine, const TileGrid& grid,
                           std::int64_t die_ctas) {
    const std::int64_t first = std::max<std::int64_t>(machine.dies - 2, 0) * die_ctas;
    const std::int64_t last = std::min(grid.rows, std::max<std::int64_t>(die_ctas / 2, 1));
    int best = 1;
    double best_bytes = -1;
    const auto consider = [&](std::int64_t width) {
      const SlabRange range = slab_range(first, die_ctas, grid.columns, grid.rows, width);
      const double bytes = static_cast<double>(range.lanes) * tile.m * product.a_bytes +
                           static_cast<double>(range.steps) * tile.n * product.b_bytes;
      if (best_bytes < 0 || bytes < best_bytes) {
        best_bytes = bytes;
        best = static_cast<int>(width);
      }
    };
    for (const std::int64_t width : {1, 4, 6}) consider(width);
    for (std::int64_t width = 2; width <= last; ++width) {
      if (last % width == 0) consider(width);
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<TileModel> make_origami_2026() { return std::make_unique<Origami2026>(); }

}  // namespace foretoken
