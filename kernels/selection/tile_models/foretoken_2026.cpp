// Our own generation: pipelined_tile.hpp with the constants inside the program, or others (a fit
// tries them). It knows warps and stages, so that candidates come with three and four stages each.
#include "kernels/selection/pipelined_tile.hpp"

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
    best.group_m = square_group(product, best, machine);
    const std::int64_t tiles = tile_grid(product, tile).tiles() * product.batch;
    if (2 * tiles > 3 * machine.units) return best;
    double best_cycles = -1;
    const std::int64_t slices = (product.k + tile.k - 1) / tile.k;
    ProductTile cut = best;
    for (const int split : {1, 2, 4, 8}) {
      if (split > 1 && (tiles * split > 2 * machine.units || slices < 2 * split)) break;
      cut.split_k = split;
      const double cycles = pipelined_tile(product, cut, machine, constants_).total;
      if (best_cycles < 0 || cycles < best_cycles) {
        best_cycles = cycles;
        best = cut;
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
