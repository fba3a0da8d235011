// cuBLAS's choice of tile. From compute capability 9.0 on, a profile of cuBLAS 13 on an H200 is
// asked, the nearest architecture that has one; below, the cheapest of the families that kernel
// names show in public profiles ("ampere_…_128x64_…_stages_64x3"). The analytic Hopper family
// answers where the program carries no profile.
#include <array>
#include <vector>

#include "kernels/selection/tile_choice.hpp"
#include "kernels/selection/tile_profile.hpp"

namespace foretoken {
namespace {

constexpr auto ampere_tiles = std::to_array<TileConfig>({
    {.m = 64, .n = 64, .k = 64, .stages = 6},
    {.m = 64, .n = 128, .k = 64, .stages = 4},
    {.m = 128, .n = 64, .k = 64, .stages = 4},
    {.m = 128, .n = 128, .k = 64, .stages = 3},
    {.m = 256, .n = 64, .k = 32, .stages = 4},
    {.m = 128, .n = 256, .k = 32, .stages = 3},
    {.m = 256, .n = 128, .k = 32, .stages = 3},
});

constexpr auto hopper_tiles = std::to_array<TileConfig>({
    {.m = 8, .n = 64, .k = 64, .stages = 16},
    {.m = 16, .n = 64, .k = 64, .stages = 16},
    {.m = 32, .n = 64, .k = 64, .stages = 16},
    {.m = 64, .n = 64, .k = 64, .stages = 13},
    {.m = 64, .n = 128, .k = 64, .stages = 8},
    {.m = 128, .n = 64, .k = 64, .stages = 8},
    {.m = 128, .n = 128, .k = 64, .stages = 6},
    {.m = 192, .n = 128, .k = 64, .stages = 5, .cluster_n = 2},
    {.m = 256, .n = 128, .k = 64, .stages = 4, .cluster_n = 2},
    {.m = 128, .n = 256, .k = 64, .stages = 4, .cluster_n = 2},
    {.m = 192, .n = 192, .k = 64, .stages = 4, .cluster_n = 2},
});

constexpr auto splits = std::to_array<int>({2, 4, 8});

const TileProfile* wide_profile() {
  static const TileProfile* const profile = find_tile_profile("cublas13_h200_bf16");
  return profile;
}

const TileProfile* narrow_profile() {
  static const TileProfile* const profile = find_tile_profile("cublas13_h200_fp8");
  return profile;
}

}  // namespace

bool is_cublas_persistent(const GpuSpec& gpu) {
  constexpr int hopper = 90;
  return gpu.compute_capability >= hopper;
}

TileConfig choose_cublas_tile(const Gemm& kernel, const GpuSpec& gpu) {
  const GemmShape shape{kernel.m, kernel.n, kernel.k};
  if (is_cublas_persistent(gpu)) {
    const TileProfile* const profile =
        bytes_per_element(kernel.dtype) < 2 ? narrow_profile() : wide_profile();
    if (profile != nullptr) return profile->choose(shape, gpu.sm_count);
  }
  const std::span<const TileConfig> family =
      is_cublas_persistent(gpu) ? std::span<const TileConfig>(hopper_tiles) : ampere_tiles;
  TileConfig best = cheapest_tile(family, shape, kernel.dtype, gpu);
  double best_cost = tile_cost_cycles(best, shape, kernel.dtype, gpu);
  for (TileConfig tile : family) {
    for (const int split : splits) {
      tile.split_k = split;
      const double cost = tile_cost_cycles(tile, shape, kernel.dtype, gpu);
      if (cost < best_cost) {
        best_cost = cost;
        best = tile;
      }
    }
  }
  return best;
}

}  // namespace foretoken
