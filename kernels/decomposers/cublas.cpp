// cuBLAS products of 16-bit (and fp32) operands: persistent CTAs that walk tiles where its launches
// were profiled; elsewhere, and for hipBLASLt on AMD parts, one CTA for each tile that a tile model
// selects. Split-K adds a kernel that sums the parts.
#include "kernels/decomposers/gemm_launch.hpp"

namespace foretoken {
namespace {

/// 168 registers x 384 threads are what persistent kernels show in profiles: one CTA a SM.
constexpr GemmLaunchOptions persistent_options = {
    .scheduling = Scheduling::persistent, .threads = 384, .registers = 168};

Launch reduction_launch(const GemmShape& shape, int parts) {
  constexpr int threads = 512;
  constexpr std::int64_t values_cta = 32 * 16 * 8;
  const auto values = static_cast<double>(values_cta);
  const Task task = {.fma_ops = values * parts, .bytes_loaded = values * parts * 4};
  return uniform_launch("split_k_reduce", task, ceil_div(shape.m * shape.n, values_cta), threads,
                        32);
}

struct Cut {
  std::string_view name;
  ProductCut product;
  TileConfig tile;
  GemmLaunchOptions options;
};

Cut cut_of(const Gemm& kernel, const GpuSpec& gpu) {
  if (const auto tile = profiled_cublas_tile(kernel, gpu)) {
    return {"cublas_persistent",
            product_cut(*tile, TileOrigin::profiled, "launches of cuBLAS 13 on an H200"), *tile,
            persistent_options};
  }
  const AnalyticTile found = analytic_tile(kernel, gpu);
  const GemmLaunchOptions options = {
      .scheduling = Scheduling::hardware, .threads = found.threads, .registers = found.registers};
  return {gpu.vendor == GpuVendor::amd ? "hipblaslt_tiled" : "cublas_tiled",
          product_cut(found.tile, TileOrigin::analytic, found.by), found.tile, options};
}

}  // namespace

Decomposition decompose_cublas(const Gemm& kernel, const GpuSpec& gpu) {
  const GemmShape shape{kernel.m, kernel.n, kernel.k};
  const Cut cut = cut_of(kernel, gpu);
  Decomposition result;
  result.cut = cut.product;
  result.launches.push_back(gemm_launch(cut.name, cut.tile, shape, kernel.dtype, cut.options, gpu));
  if (cut.tile.split_k > 1) result.launches.push_back(reduction_launch(shape, cut.tile.split_k));
  if (cut.product.origin == TileOrigin::analytic) {
    result.approximation =
        "the library was not profiled on such a GPU: a tile model's tile stands in";
  }
  return result;
}

}  // namespace foretoken
