// Finding the tile that a model ranks first. Trying every candidate is what any model can do; a
// model whose ranks have cheap lower bounds brings a search of its own, which must find the same
// tile (tests hold one against the other).
#pragma once

#include <memory>
#include <span>

#include "kernels/tiles/tile_model.hpp"

namespace foretoken {

class TileSearch {
 public:
  virtual ~TileSearch() = default;

  /// The candidate that ranks first, with the group and split it was ranked with. Of those alike
  /// (TileModel::tie_cycles) the one with most arithmetic for its bytes; of these the first.
  [[nodiscard]] virtual ProductTile best(const TiledProduct& product) const = 0;
};

/// Multiply-adds for the bytes of operands and result, in elements as Origami counts them.
double arithmetic_intensity(const ProductTile& tile);

/// Tries every candidate. `candidates` must not be empty; the model must outlive the search.
std::unique_ptr<TileSearch> exhaustive_search(const TileModel& model,
                                              std::span<const ProductTile> candidates,
                                              const TileMachine& machine);

}  // namespace foretoken
