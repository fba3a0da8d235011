// Our own latency model of a tiled product, for kernels whose loop a compiler pipelined: warps,
// stages, CTAs that share a unit, the order of CTAs in L2, parts of the depth. Beside the published
// models because these price none of that, and on an H200 it decides (evaluate --tiles). What of a
// tile and what of a product does not change with the other is worked out once: a search prices
// many tiles for many products (pipelined_search.hpp).
#pragma once

#include "kernels/tiles/tile_constants.hpp"
#include "kernels/tiles/tile_model.hpp"

namespace foretoken {

/// What of a tile stays the same for all products of a format. Times in cycles of a CTA's slice.
struct PipelinedTile {
  PipelinedTile(const TiledProduct& format, const ProductTile& tile, const TileMachine& machine,
                const TileConstants& constants);

  ProductTile tile;
  double together;      // CTAs that share a unit
  double matrix;        // products at the full rate
  double math, shared;  // products as they are, and shared memory
  double overhead;      // beside the products
  double burst, drawn;  // L2: alone on the GPU, and with all units working; nothing from DRAM
  double ahead;         // slices that are asked for before they are used
  double values;        // cycles to write the result, of a whole CTA
  double bytes;         // of a slice, as counted
  double thin;          // times the traffic, where rows of a slice are no whole lines
  double short_rows;    // times what DRAM delivers, where they are less than two lines
  double lines;         // of memory in a row of a slice
  double packed;        // share of the last round's CTAs that run packed
};

/// What of a product stays the same for all tiles.
struct PipelinedProduct {
  PipelinedProduct(const TiledProduct& product, const TileMachine& machine,
                   const TileConstants& constants);

  TiledProduct sizes;
  double batch;
  double operand_a, operand_b;  // bytes of one product
  double result, result_bytes;  // values of all products; half of the bytes they take
  double missed;                // share of further rounds' operands that L2 did not keep
  double dram_rate;             // bytes a cycle that DRAM delivers
};

/// Cycles of the product with this tile, its rows grouped by `group_m`, its depth in `split_k`
/// parts (those of `tile.tile` are not asked).
double pipelined_cycles(const PipelinedProduct& product, const PipelinedTile& tile, int group_m,
                        int split_k, const TileMachine& machine, const TileConstants& constants);

/// No more than pipelined_cycles() with any group, and much cheaper: as if DRAM delivered every
/// operand once and no L2 request missed, and as if what overlaps did so perfectly. `tiles` of all
/// products, `slices` of the whole depth.
double pipelined_cycles_least(const PipelinedProduct& product, const PipelinedTile& tile,
                              double tiles, double slices, int split_k, const TileMachine& machine,
                              const TileConstants& constants);

/// The same as pipelined_cycles() with its parts. Without `bottleneck`'s explanation.
TileLatency pipelined_tile(const TiledProduct& product, const ProductTile& tile,
                           const TileMachine& machine, const TileConstants& constants);

/// What a plain loop lacks to a vendor's: pipelined_tile() again with constants that leave a cost
/// out (pipelined_gaps.cpp).
std::vector<TileGap> pipelined_gaps(const TiledProduct& product, const ProductTile& tile,
                                    const TileMachine& machine, const TileConstants& constants);

/// Cycles of the product as Stream-K does it: the slices of all tiles dealt to `grid` CTAs in equal
/// runs, each tile finished by the CTA that has its first slice, with what others put into memory.
/// `grid`: 1 to all slices; with a CTA a tile it is what pipelined_tile() says of one part. The
/// tile's own split is not asked.
double stream_k_cycles(const TiledProduct& product, const ProductTile& tile, std::int64_t grid,
                       const TileMachine& machine, const TileConstants& constants);

/// The splits of the depth that are worth a try for a product of so many tiles and slices: powers
/// of two up to 8, the last one returned; 1 where tiles alone keep all units busy.
int largest_split(std::int64_t tiles, std::int64_t slices, const TileMachine& machine);

/// All rows where there are few, else what makes a round of CTAs square in elements; a power of two
/// up to 16.
int square_group(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine);

/// The GROUP_M, a power of two up to 16, with which DRAM delivers least.
int cheapest_group(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine,
                   const TileConstants& constants);

}  // namespace foretoken
