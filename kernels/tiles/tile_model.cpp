#include "kernels/tiles/tile_model.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/tiles/tile_search.hpp"

namespace foretoken {

std::unique_ptr<TileSearch> TileModel::search(const TiledProduct&,
                                              std::span<const ProductTile> candidates,
                                              const TileMachine& machine) const {
  return exhaustive_search(*this, candidates, machine);
}

std::unique_ptr<TileModel> make_tile_model(std::string name, const SourcePosition& position) {
  std::ranges::replace(name, '-', '_');
  const auto catalog = tile_model_catalog();
  return catalog.find(name, position).make();
}

double math_cycles(const ProductTile& tile, const MatrixInstruction& instruction) {
  const auto pieces = [](int size, int step) { return (size + step - 1) / step; };
  return instruction.cycles * pieces(tile.m, instruction.m) * pieces(tile.n, instruction.n) *
         pieces(tile.k, instruction.k);
}

double shared_cycles(const TiledProduct& product, const ProductTile& tile,
                     const TileMachine& machine) {
  // Warps stand in the most nearly square grid that the tile allows; each reads the A rows and the
  // B columns of its part. Warp-group products (64 rows or more) read each operand once a group.
  const bool is_group = machine.instruction.m >= 64 && tile.m >= 64;
  const int parts = is_group ? std::max(1, tile.warps / 4) : tile.warps;
  int along_m = 1;
  while (along_m * along_m < parts && along_m * 2 * machine.narrow.m <= tile.m) along_m *= 2;
  if (is_group) along_m = std::min(parts, tile.m / 64);
  const int along_n = std::max(1, parts / along_m);
  const double a = static_cast<double>(tile.m) * tile.k * product.a_bytes * along_n;
  const double b = static_cast<double>(tile.n) * tile.k * product.b_bytes * along_m;
  return (a + b) / machine.shared_rate;
}

ProductTile with_cheapest_split(const TileModel& model, const TiledProduct& product,
                                ProductTile tile, const TileMachine& machine) {
  constexpr std::int64_t splits_max = 10;
  const std::int64_t tiles = tile_grid(product, tile).tiles() * product.batch;
  const std::int64_t last = std::min({splits_max, machine.units / tiles, product.k / tile.k});
  ProductTile best = tile;
  best.split_k = 1;
  double best_cycles = model.latency(product, best, machine).total;
  for (std::int64_t split = 2; split <= last; ++split) {
    tile.split_k = static_cast<int>(split);
    const double cycles = model.latency(product, tile, machine).total;
    if (cycles < best_cycles) {
      best_cycles = cycles;
      best = tile;
    }
  }
  return best;
}

TileBottleneck classify(const TileLatency& latency, const TileMachine& machine,
                        double bandwidth_share) {
  const double memory = std::max({latency.l2, latency.mall, latency.dram});
  const bool is_full = latency.active >= machine.units;
  if (memory > std::max(latency.math, latency.shared)) {
    const bool is_issue = bandwidth_share < 1.0 || (!is_full && latency.l2 >= memory);
    return is_issue ? TileBottleneck::load_issue : TileBottleneck::cache_bandwidth;
  }
  if (latency.shared > latency.math) return TileBottleneck::shared_bandwidth;
  return is_full ? TileBottleneck::full_compute : TileBottleneck::under_occupied_compute;
}

}  // namespace foretoken
