// Triton's blockwise fp8 product, the path of parts without a better one (L40S): tiles as vLLM and
// SGLang take them without a tuned file, 64 x 128 x 128, one CTA a tile.
#include "kernels/tasks/decomposers/gemm_launch.hpp"

namespace foretoken {

Decomposition decompose_triton_gemm(const Gemm& kernel, const GpuSpec& gpu) {
  constexpr TileConfig tile = {.m = 64, .n = 128, .k = 128, .stages = 2};
  constexpr GemmLaunchOptions options = {.threads = 128, .registers = 255};
  Decomposition result;
  append_quantisation(result, kernel);
  result.cut = product_cut(tile, TileOrigin::library, "the tile without a tuned file");
  result.launches.push_back(
      gemm_launch("triton_gemm", tile, {kernel.m, kernel.n, kernel.k}, kernel.dtype, options, gpu));
  if (kernel.dtype != DType::fp8_block) {
    result.approximation = "Triton's blockwise fp8 tile stands in for other formats";
  }
  return result;
}

}  // namespace foretoken
