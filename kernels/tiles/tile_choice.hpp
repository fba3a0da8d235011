// Which tile a library would cut a matrix product into. For cuBLAS a rule learned from profiled
// launches says so on GPUs of an architecture that was profiled (cublas_tiles.cpp); elsewhere the
// tile that a tile model selects stands in (analytic_tile.cpp). CUTLASS's later families go by a
// cost of a few lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

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

/// cuBLAS 13's choice of a persistent kernel as its launches on an H200 show it; none for a GPU
/// that is not of compute capability 9.0.
std::optional<TileConfig> profiled_cublas_tile(const Gemm& kernel, const GpuSpec& gpu);

/// A tile that no library was seen to take, and what its CTAs would be.
struct AnalyticTile {
  TileConfig tile;
  int threads = 256, registers = 168;
  std::string_view by;  // the tile model
};

/// What the GPU vendor's default tile model selects (tile_selector.hpp). Throws PredictionError
/// where the GPU has no tensor path for the format.
AnalyticTile analytic_tile(const Gemm& kernel, const GpuSpec& gpu);

}  // namespace foretoken
