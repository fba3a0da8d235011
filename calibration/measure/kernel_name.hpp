// Reads the tile, pipeline depth and cluster of a GEMM out of its kernel's name: cuBLAS tells
// nobody else which kernel it chose. Pure text, no CUDA, so that the trainer can use it too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace foretoken::measure {

/// Tile and cluster are in cuBLAS's column-major order: for row-major x[m,k] W[n,k]^T the first
/// number runs along n, the second along m. 0 or "" = the name does not say.
struct GemmKernelName {
  std::string family;  // nvjet, ampere, cutlass, xmma
  int tile_m = 0, tile_n = 0, tile_k = 0, stages = 0;
  int cluster_m = 0, cluster_n = 0;
  std::string raster;  // "h" or "v": the direction in which tiles are walked
  std::string coop;    // "coopA" or "coopB": two warp groups share a tile
  bool split_k = false;
  std::string layout;  // "TNN", "tn" …
};

/// Nothing for kernels that are no tiled GEMM (gemv, split-K reduction).
std::optional<GemmKernelName> parse_gemm_kernel_name(std::string_view name);

}  // namespace foretoken::measure
