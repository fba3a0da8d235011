// cuBLAS products of 16-bit (and fp32) operands: persistent CTAs that walk tiles where its launches
// were profiled; elsewhere, and for hipBLASLt on AMD parts, one CTA for each tile that a tile model
// selects.
#include "kernels/tasks/decomposers/gemm_launch.hpp"

namespace foretoken {

Decomposition decompose_cublas(const Gemm& kernel, const GpuSpec& gpu) {
  /// 168 registers x 384 threads are what persistent kernels show in profiles: one CTA a SM.
  constexpr GemmLaunchOptions options = {
      .scheduling = Scheduling::persistent, .threads = 384, .registers = 168};
  Decomposition result;
  const auto tile = profiled_cublas_tile(kernel, gpu);
  if (!tile) {
    const bool is_amd = gpu.vendor == GpuVendor::amd;
    append_selected_product(result, is_amd ? "hipblaslt_tiled" : "cublas_tiled", kernel, gpu);
    result.approximation =
        "the library was not profiled on such a GPU: a tile model's tile stands in";
    return result;
  }
  const GemmShape shape{kernel.m, kernel.n, kernel.k};
  result.cut = product_cut(*tile, TileOrigin::profiled, "launches of cuBLAS 13 on an H200");
  result.launches.push_back(
      gemm_launch("cublas_persistent", *tile, shape, kernel.dtype, options, gpu));
  append_reduction(result, shape, tile->split_k);
  return result;
}

}  // namespace foretoken
