// The tile that our own model ranks first, without pricing most of them: a bound that costs a tenth
// of the price first, and the price only where the bound does not already exceed the best one
// found.
#pragma once

#include <memory>
#include <span>

#include "kernels/tiles/pipelined_tile.hpp"
#include "kernels/tiles/tile_search.hpp"

namespace foretoken {

/// The tile, group by square_group() and the split up to largest_split() with fewest
/// pipelined_cycles(); between equals the search's order, and the smaller split. `candidates` must
/// not be empty. best() takes products of this format (element sizes) alone.
std::unique_ptr<TileSearch> pipelined_search(const TiledProduct& format,
                                             std::span<const ProductTile> candidates,
                                             const TileMachine& machine,
                                             const TileConstants& constants);

}  // namespace foretoken
