// Which tiles a kernel could be compiled with: tritonBLAS's 150 (sides 16 to 256, depths 16 to
// 512), less those that do not fit a CTA's shared memory or registers. Warps and stages are set by
// a rule where a model does not know them, and enumerated where it does.
#pragma once

#include <vector>

#include "kernels/tiles/tile_machine.hpp"

namespace foretoken {

/// Bytes of shared memory that the tile's stages take. Products of warp groups read shared memory
/// alone; elsewhere Triton keeps the slice in work in registers, and one stage fewer (as the sizes
/// of compiled kernels show on an H200, and tritonBLAS's filter on AMD parts).
double shared_bytes(const TiledProduct& product, const ProductTile& tile,
                    const TileMachine& machine);

/// fp32 accumulators of a thread, and about 40 registers for addresses and operands in flight.
int registers_needed(const ProductTile& tile, const TileMachine& machine);

bool is_feasible(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine);

/// CTAs of this tile that a unit holds at once: shared memory, registers, threads. At least 1.
int resident_ctas(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine);

/// What people write beside a tile when they do not tune: enough warps for 128 accumulators a
/// thread (4, 8 or 16), and up to 4 stages as they fit; on AMD parts 8 warps and 2 stages, as
/// tritonBLAS has it.
ProductTile with_default_pipeline(const TiledProduct& product, ProductTile tile,
                                  const TileMachine& machine);

/// Tiles with the default pipeline, in ascending order of m, n, k. Where none fits (tiny shared
/// memory): those whose single slice fits, else all. Never empty.
std::vector<ProductTile> tile_candidates(const TiledProduct& product, const TileMachine& machine);

/// The same, again with three stages where four fit (the shallower pipeline leaves room for another
/// CTA) and with six where they fit (few CTAs have more of their slices on the way), and all these
/// with 8 warps from 8,192 values on. Slices of 64 to 512 bytes a row, tiles of 512 values or more:
/// the others never come near. Of the times measured on an H200 the best is among these. Never
/// empty.
std::vector<ProductTile> pipelined_candidates(const TiledProduct& product,
                                              const TileMachine& machine);

}  // namespace foretoken
