// DeepGEMM's blockwise fp8 products (compute capability 9.0 and 10.0): persistent CTAs, depth 128,
// and a tile that takes the fewest rounds of SMs and, among those, fills the last round best. Rule:
// deep_gemm/jit_kernels of 2025. Other types and parts take the same rule, which is declared.
#include <tuple>

#include "hardware/compute_capability.hpp"
#include "kernels/tasks/decomposers/gemm_launch.hpp"

namespace foretoken {
namespace {

TileConfig choose_tile(const GemmShape& shape, const GpuSpec& gpu) {
  const int m = shape.m <= 64 ? 64 : 128;
  TileConfig best;
  std::tuple<std::int64_t, std::int64_t, int> best_key;
  bool is_first = true;
  for (int n = 16; n <= 256; n += 16) {
    // Two 64-row warp groups must hold the accumulators: 128 x 256 does not fit.
    if (m == 128 && n > 160) break;
    const std::int64_t tiles = ceil_div(shape.m, m) * ceil_div(shape.n, n);
    const std::int64_t rounds = ceil_div(tiles, gpu.sm_count);
    const std::int64_t idle = rounds * gpu.sm_count - tiles;
    const std::tuple<std::int64_t, std::int64_t, int> key{rounds, idle, -n};
    if (is_first || key < best_key) {
      best_key = key;
      best = {.m = m, .n = n, .k = 128, .stages = n > 128 ? 5 : 6};
      is_first = false;
    }
  }
  return best;
}

}  // namespace

Decomposition decompose_deep_gemm(const Gemm& kernel, const GpuSpec& gpu) {
  constexpr GemmLaunchOptions options = {
      .scheduling = Scheduling::persistent, .threads = 384, .registers = 168};
  const GemmShape shape{kernel.m, kernel.n, kernel.k};
  Decomposition result;
  result.launches.push_back(quantise_launch(kernel.m, kernel.k, kernel.dtype));
  const TileConfig tile = choose_tile(shape, gpu);
  result.cut = product_cut(tile, TileOrigin::library, "DeepGEMM's rule");
  result.launches.push_back(gemm_launch("deep_gemm", tile, shape, kernel.dtype, options, gpu));
  if (kernel.dtype != DType::fp8_block || gpu.compute_capability != hopper) {
    result.approximation =
        "DeepGEMM by its rule for Hopper's blockwise fp8: rounds and operations are right, the "
        "tile "
        "may differ";
  }
  return result;
}

}  // namespace foretoken
