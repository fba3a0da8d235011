// Which tile a library would cut a matrix product into. Libraries decide by tables and models of
// their own; here the cheapest of a family by a small analytic model stands in, and for cuBLAS a
// rule learned from profiled launches where there is one (cublas_tiles.cpp).
#pragma once

#include <cstdint>
#include <span>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

/// `m` runs along tokens, `n` along output features, whatever order the library counts in.
struct TileConfig {
  int m = 128, n = 128, k = 64;
  int stages = 4;
  int cluster_m = 1, cluster_n = 1;  // CTAs of a cluster along m and n; tiles are padded to it
  int split_k = 1;
  friend bool operator==(const TileConfig&, const TileConfig&) = default;
};

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
};

/// Cycles of a product with this tile: rounds of tiles at the slower of tensor cores and the SM's
/// share of L2 bandwidth, no less than DRAM takes, and the pipeline's filling.
double tile_cost_cycles(const TileConfig& tile, const GemmShape& shape, DType dtype,
                        const GpuSpec& gpu);

/// The cheapest; the first among equals. `tiles` must not be empty.
TileConfig cheapest_tile(std::span<const TileConfig> tiles, const GemmShape& shape, DType dtype,
                         const GpuSpec& gpu);

/// cuBLAS 13's choice: Ampere-style kernels below compute capability 9.0 and on AMD parts,
/// persistent ones from 9.0 on.
TileConfig choose_cublas_tile(const Gemm& kernel, const GpuSpec& gpu);
bool is_cublas_persistent(const GpuSpec& gpu);

}  // namespace foretoken
