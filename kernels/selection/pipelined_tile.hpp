// Our own latency model of a tiled product, for kernels whose loop a compiler pipelined: warps,
// stages, CTAs that share a unit, the order of CTAs in L2, parts of the depth. Beside the published
// models because these price none of that, and on an H200 it decides (evaluate --tiles).
#pragma once

#include "kernels/selection/tile_constants.hpp"
#include "kernels/selection/tile_model.hpp"

namespace foretoken {

/// Without `shared` and `bottleneck`'s explanation; `total` is complete.
TileLatency pipelined_tile(const TiledProduct& product, const ProductTile& tile,
                           const TileMachine& machine, const TileConstants& constants);

/// All rows where there are few, else what makes a round of CTAs square in elements; a power of two
/// up to 16.
int square_group(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine);

/// The GROUP_M, a power of two up to 16, with which DRAM delivers least.
int cheapest_group(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine,
                   const TileConstants& constants);

}  // namespace foretoken
