// Configurations of a tiled mixture-of-experts kernel, which of them fit a GPU, and how many CTAs
// of one share an SM: the pool that dispatch chooses from. The default pool is the one measured in
// calibration/datasets (moe_grid_triton.py): 134 configurations on an H200.
//
// RaMP's own pool (134 or 268 of its CuTe kernel: tiles of 2 to 104 rows, four families of ttn 256
// or 512, 1 to 5 stages) is not published as a list and its kernel neither; block_n stands for its
// bn x wn, and Equation 1 holds as it is.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "hardware/gpu.hpp"

namespace foretoken {

struct MoeTile {
  int block_m = 16, block_n = 64, block_k = 128;
  int group_m = 1;  // row tiles that share columns of weights before the next columns
  int split_k = 1;  // CTAs over which a tile's depth is split
  int warps = 4, stages = 3;

  friend auto operator<=>(const MoeTile&, const MoeTile&) = default;
};

/// "16x64x128 group 1 split 1 warps 4 stages 3".
std::string moe_tile_text(const MoeTile& tile);

/// A family: tile and warps. `depth_bytes` is block_k in bytes of 16-bit elements; 8-bit ones get
/// twice as many elements, up to 256.
struct MoeTileFamily {
  int block_m, block_n, depth_bytes, warps;
};

struct MoePoolOptions {
  std::vector<MoeTileFamily> families;
  std::vector<int> groups, splits, stages;
  int split_rows_max = 64;  // taller tiles are not split: they fill SMs
};

/// The measured pool's families: 14 tiles, GROUP_M 1 and 16, split-K 1, 2 and 4, 3 and 4 stages.
MoePoolOptions measured_pool_options();

/// Shared memory of a CTA: its stages of both operands' tiles.
double shared_bytes(const MoeTile& tile, DType dtype);
/// 32-bit registers a thread: its share of the fp32 accumulators, and what addresses and fragments
/// take (40: with it the numbers of CTAs an SM are those at whose multiples measured times of
/// Triton's kernel jump on an H200). Rounded up to the unit of 8 in which they are handed out.
int registers_per_thread(const MoeTile& tile, GpuVendor vendor);

/// CTAs of the configuration that fit an SM at once; 0 = not even one.
int resident_ctas(const MoeTile& tile, DType dtype, const GpuSpec& gpu);

/// Every configuration of the options that fits, in the order of families, groups, splits and
/// stages. Throws PredictionError if none does.
std::vector<MoeTile> moe_tiles(const MoePoolOptions& options, DType dtype, const GpuSpec& gpu);

}  // namespace foretoken
