// cuBLAS's choice of tile where it was profiled: cuBLAS 13 on an H200, asked about other GPUs of
// compute capability 9.0 with their own number of SMs. Other architectures run other kernels.
#include "hardware/compute_capability.hpp"
#include "kernels/tiles/tile_choice.hpp"
#include "kernels/tiles/tile_profile.hpp"

namespace foretoken {
namespace {

const TileProfile* wide_profile() {
  static const TileProfile* const profile = find_tile_profile("cublas13_h200_bf16");
  return profile;
}

const TileProfile* narrow_profile() {
  static const TileProfile* const profile = find_tile_profile("cublas13_h200_fp8");
  return profile;
}

}  // namespace

std::optional<TileConfig> profiled_cublas_tile(const Gemm& kernel, const GpuSpec& gpu) {
  if (gpu.compute_capability != hopper) return std::nullopt;
  const TileProfile* const profile =
      bytes_per_element(kernel.dtype) < 2 ? narrow_profile() : wide_profile();
  if (profile == nullptr) return std::nullopt;
  return profile->choose({kernel.m, kernel.n, kernel.k}, gpu.sm_count);
}

}  // namespace foretoken
