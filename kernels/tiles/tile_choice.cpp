// The analytic choice of a tile: argmin of a cost over a family. It needs no measurements, so it is
// what an unknown GPU or library gets.
#include "kernels/tiles/tile_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Cycles from the first load of a tile to its first product, and from its last product to memory:
/// two DRAM round trips, about 700 cycles each on A100 and H100 (published microbenchmarks).
constexpr double fill_and_drain_cycles = 1400;
/// A second kernel adds the partial results of split-K: its launch, in seconds.
constexpr double reduction_launch = 1.5e-6;

}  // namespace

double tile_cost_cycles(const TileConfig& tile, const GemmShape& shape, DType dtype,
                        const GpuSpec& gpu) {
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t tiles = ceil_div(shape.m, tile.m) * ceil_div(shape.n, tile.n) * tile.split_k;
  const double k = static_cast<double>(ceil_div(ceil_div(shape.k, tile.split_k), tile.k) * tile.k);
  const double size = bytes_per_element(dtype);
  const double rate = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)];
  const double l2_sm = gpu.l2_bandwidth.value() / gpu.clock.value() / gpu.sm_count;
  const double dram = gpu.dram_bandwidth.value() / gpu.clock.value();
  const double math = 2.0 * tile.m * tile.n * k / rate;
  const double load = (tile.m + tile.n) * k * size / l2_sm;
  const double rounds = static_cast<double>(ceil_div(tiles, gpu.sm_count));
  const auto product = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  const double memory =
      (product(shape.m + shape.n, shape.k) * size + product(shape.m, shape.n) * 2) / dram;
  double cost = std::max(rounds * std::max(math, load), memory) + fill_and_drain_cycles;
  if (tile.split_k > 1) {
    const double partials = product(shape.m, shape.n) * 4 * 2 * tile.split_k;
    cost += partials * gpu.clock.value() / gpu.l2_bandwidth.value() +
            reduction_launch * gpu.clock.value();
  }
  return cost;
}

TileConfig cheapest_tile(std::span<const TileConfig> tiles, const GemmShape& shape, DType dtype,
                         const GpuSpec& gpu) {
  FORETOKEN_CHECK(!tiles.empty(), "no tiles to choose from");
  double best_cost = std::numeric_limits<double>::infinity();
  const TileConfig* best = &tiles[0];
  for (const TileConfig& tile : tiles) {
    const double cost = tile_cost_cycles(tile, shape, dtype, gpu);
    if (cost < best_cost) {
      best_cost = cost;
      best = &tile;
    }
  }
  return *best;
}

}  // namespace foretoken
