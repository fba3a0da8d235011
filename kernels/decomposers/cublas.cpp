// cuBLAS products of 16-bit (and fp32) operands: one CTA a tile below compute capability 9.0,
// persistent CTAs that walk tiles from there on. Split-K adds a kernel that sums the parts.
#include <algorithm>

#include "kernels/decomposers/gemm_launch.hpp"

namespace foretoken {
namespace {

/// 168 registers x 384 threads are what persistent kernels show in profiles: one CTA a SM.
constexpr GemmLaunchOptions persistent_options = {
    .scheduling = Scheduling::persistent, .threads = 384, .registers = 168};

/// Accumulators spread over the threads, and about 80 registers for operands and addresses.
GemmLaunchOptions ampere_options(const TileConfig& tile) {
  const int threads = tile.m * tile.n >= 128 * 128 ? 256 : 128;
  return {.scheduling = Scheduling::hardware,
          .threads = threads,
          .registers = std::min(255, tile.m * tile.n / threads + 80)};
}

Launch reduction_launch(const GemmShape& shape, int parts) {
  constexpr int threads = 512;
  constexpr std::int64_t values_cta = 32 * 16 * 8;
  const auto values = static_cast<double>(values_cta);
  const Task task = {.fma_ops = values * parts, .bytes_loaded = values * parts * 4};
  return uniform_launch("split_k_reduce", task, ceil_div(shape.m * shape.n, values_cta), threads,
                        32);
}

}  // namespace

Decomposition decompose_cublas(const Gemm& kernel, const GpuSpec& gpu) {
  const GemmShape shape{kernel.m, kernel.n, kernel.k};
  const TileConfig tile = choose_cublas_tile(kernel, gpu);
  const bool is_persistent = is_cublas_persistent(gpu);
  Decomposition result;
  result.launches.push_back(
      gemm_launch(is_persistent ? "cublas_persistent" : "cublas_ampere", tile, shape, kernel.dtype,
                  is_persistent ? persistent_options : ampere_options(tile), gpu));
  if (tile.split_k > 1) result.launches.push_back(reduction_launch(shape, tile.split_k));
  if (gpu.vendor == GpuVendor::amd) {
    result.approximation = "hipBLASLt by cuBLAS's Ampere tiles: its own choice is not modelled";
  }
  return result;
}

}  // namespace foretoken
