#include "kernels/tiles/tile_search.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

class ExhaustiveSearch final : public TileSearch {
 public:
  ExhaustiveSearch(const TileModel& model, std::span<const ProductTile> candidates,
                   const TileMachine& machine)
      : model_(model), candidates_(candidates.begin(), candidates.end()), machine_(machine) {
    FORETOKEN_CHECK(!candidates.empty(), "no tiles to choose from");
  }

  [[nodiscard]] ProductTile best(const TiledProduct& product) const override {
    std::vector<double> cycles;
    cycles.reserve(candidates_.size());
    double best_cycles = std::numeric_limits<double>::infinity();
    for (const ProductTile& candidate : candidates_) {
      const ProductTile tile = model_.prepared(product, candidate, machine_);
      cycles.push_back(model_.rank_cycles(product, tile, machine_));
      best_cycles = std::min(best_cycles, cycles.back());
    }
    const double tied_up_to = best_cycles + model_.tie_cycles();
    const ProductTile* best = nullptr;
    double best_intensity = -1;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!(cycles[i] <= tied_up_to)) continue;
      const double intensity = arithmetic_intensity(candidates_[i]);
      if (intensity > best_intensity) {
        best = &candidates_[i];
        best_intensity = intensity;
      }
    }
    FORETOKEN_CHECK(best != nullptr, "a tile model gave no number");
    return model_.prepared(product, *best, machine_);
  }

 private:
  const TileModel& model_;
  std::vector<ProductTile> candidates_;
  TileMachine machine_;
};

}  // namespace

double arithmetic_intensity(const ProductTile& tile) {
  const double m = tile.m, n = tile.n, k = tile.k;
  return 2 * m * n * k / (m * k + n * k + m * n);
}

std::unique_ptr<TileSearch> exhaustive_search(const TileModel& model,
                                              std::span<const ProductTile> candidates,
                                              const TileMachine& machine) {
  return std::make_unique<ExhaustiveSearch>(model, candidates, machine);
}

}  // namespace foretoken
