// Our own generation: pipelined_tile.hpp with the constants inside the program, or others (a fit
// tries them). It knows warps and stages, so that candidates come with several of each.
#include "kernels/tiles/pipelined_search.hpp"

namespace foretoken {
namespace {

class Foretoken2026 final : public TileModel {
 public:
  explicit Foretoken2026(const TileConstants& constants) : constants_(constants) {}

  [[nodiscard]] TileLatency latency(const TiledProduct& product, const ProductTile& tile,
                                    const TileMachine& machine) const override {
    TileLatency out = pipelined_tile(product, tile, machine, constants_);
    const double share = out.active < machine.units ? out.active / machine.units : 1;
    out.bottleneck = classify(out, machine, share);
    return out;
  }

  [[nodiscard]] double rank_cycles(const TiledProduct& product, const ProductTile& tile,
                                   const TileMachine& machine) const override {
    return pipelined_tile(product, tile, machine, constants_).total;
  }

  /// The group by a rule; the split of the depth that takes least, tried where tiles leave units
  /// idle.
  [[nodiscard]] ProductTile prepared(const TiledProduct& product, const ProductTile& tile,
                                     const TileMachine& machine) const override {
    ProductTile best = tile;
    best.group_m = square_group(product, tile, machine);
    const std::int64_t tiles = tile_grid(product, tile).tiles() * product.batch;
    const int last = largest_split(tiles, (product.k + tile.k - 1) / tile.k, machine);
    if (last == 1) return best;
    const PipelinedProduct sizes(product, machine, constants_);
    const PipelinedTile facts(product, tile, machine, constants_);
    double best_cycles = -1;
    for (int split = 1; split <= last; split *= 2) {
      const double cycles =
          pipelined_cycles(sizes, facts, best.group_m, split, machine, constants_);
      if (best_cycles < 0 || cycles < best_cycles) {
        best_cycles = cycles;
        best.split_k = split;
      }
    }
    return best;
  }

  /// The group with which DRAM delivers least: too dear to look for in every candidate.
  [[nodiscard]] ProductTile finished(const TiledProduct& product, const ProductTile& tile,
                                     const TileMachine& machine) const override {
    ProductTile best = tile;
    best.group_m = cheapest_group(product, tile, machine, constants_);
    return best;
  }

  [[nodiscard]] std::unique_ptr<TileSearch> search(const TiledProduct& format,
                                                   std::span<const ProductTile> candidates,
                                                   const TileMachine& machine) const override {
    return pipelined_search(format, candidates, machine, constants_);
  }

  [[nodiscard]] std::vector<TileGap> gaps(const TiledProduct& product, const ProductTile& tile,
                                          const TileMachine& machine) const override {
    return pipelined_gaps(product, tile, machine, constants_);
  }

  [[nodiscard]] double tie_cycles() const override { return 0; }
  [[nodiscard]] bool knows_pipelines() const override { return true; }

 private:
  TileConstants constants_;
};

}  // namespace

std::unique_ptr<TileModel> make_foretoken_2026(const TileConstants& constants) {
  return std::make_unique<Foretoken2026>(constants);
}

std::unique_ptr<TileModel> make_foretoken_2026() {
  return make_foretoken_2026(embedded_tile_constants());
}

}  // namespace foretoken
