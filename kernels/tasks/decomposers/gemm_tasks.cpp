// Pieces of matrix-product decompositions.
#include <algorithm>

#include "kernels/tasks/decomposers/gemm_launch.hpp"

namespace foretoken {
namespace {

/// A cluster stays within a group of 16 or 18 SMs, so that larger ones leave some out: 120 of an
/// H200's 132 with four or eight CTAs, as all profiled launches of more tiles than SMs show.
std::int64_t persistent_ctas(int cluster, const GpuSpec& gpu) {
  const std::int64_t usable = cluster <= 2 ? gpu.sm_count : gpu.sm_count * 10 / 11;
  return usable / cluster * cluster;
}

}  // namespace

Task gemm_task(std::int64_t tile_m, std::int64_t tile_n, std::int64_t k, double bytes_a,
               double bytes_b) {
  const auto m = static_cast<double>(tile_m);
  const auto n = static_cast<double>(tile_n);
  const auto depth = static_cast<double>(k);
  return {.tensor_ops = 2 * m * n * depth, .bytes_loaded = (m * bytes_a + n * bytes_b) * depth};
}

Launch quantise_launch(std::int64_t m, std::int64_t k, DType dtype) {
  constexpr int threads = 256;
  constexpr int registers = 32;
  const auto values = static_cast<double>(k);
  // Largest magnitude, then scale: the row is read twice.
  const Task task = {.fma_ops = 2 * values, .bytes_loaded = 2 * values * activation_bytes(dtype)};
  return uniform_launch("quantise", task, m, threads, registers);
}

ProductCut product_cut(const TileConfig& tile, TileOrigin origin, std::string_view by) {
  return {tile.m, tile.n, tile.k, tile.split_k, origin, by};
}

Launch gemm_launch(std::string_view name, const TileConfig& tile, const GemmShape& shape,
                   DType dtype, const GemmLaunchOptions& options, const GpuSpec& gpu) {
  const double size = bytes_per_element(dtype);
  const double row_size = is_weight_only(dtype) ? activation_bytes(dtype) : size;
  // Each part of a split depth is rounded up on its own, and the tiles that pad a cluster multiply
  // like any other: so the tensor counters of profiled launches say.
  const std::int64_t depth = round_up(ceil_div(shape.k, tile.split_k), tile.k);
  const std::int64_t tiles = round_up(ceil_div(shape.m, tile.m), tile.cluster_m) *
                             round_up(ceil_div(shape.n, tile.n), tile.cluster_n) * tile.split_k;
  Launch launch;
  launch.name = name;
  launch.scheduling = options.scheduling;
  launch.tensor_dtype = dtype;
  launch.shape.threads = options.threads;
  launch.shape.registers_per_thread = options.registers;
  launch.shape.shared_memory = Bytes((tile.m * row_size + tile.n * size) * tile.k * tile.stages);
  launch.shape.grid_x = tiles;
  if (options.scheduling == Scheduling::stream_k) {
    const std::int64_t steps = depth / tile.k;
    append_tasks(launch.tasks, gemm_task(tile.m, tile.n, tile.k, row_size, size), tiles * steps);
    launch.shape.grid_x = std::min<std::int64_t>(tiles * steps, gpu.sm_count);
  } else {
    append_tasks(launch.tasks, gemm_task(tile.m, tile.n, depth, row_size, size), tiles);
  }
  if (options.scheduling == Scheduling::persistent && tiles > gpu.sm_count) {
    launch.shape.grid_x = persistent_ctas(tile.cluster_m * tile.cluster_n, gpu);
  }
  return launch;
}

void append_quantisation(Decomposition& decomposition, const Gemm& kernel) {
  if (bytes_per_element(kernel.dtype) >= activation_bytes(kernel.dtype)) return;
  decomposition.launches.push_back(quantise_launch(kernel.m, kernel.k, kernel.dtype));
}

void append_reduction(Decomposition& decomposition, const GemmShape& shape, int parts) {
  if (parts <= 1) return;
  constexpr int threads = 512;
  constexpr std::int64_t values_cta = 32 * 16 * 8;
  const auto values = static_cast<double>(values_cta);
  const Task task = {.fma_ops = values * parts, .bytes_loaded = values * parts * 4};
  decomposition.launches.push_back(
      uniform_launch("split_k_reduce", task, ceil_div(shape.m * shape.n, values_cta), threads, 32));
}

void append_selected_product(Decomposition& decomposition, std::string_view name,
                             const Gemm& kernel, const GpuSpec& gpu) {
  const GemmShape shape{kernel.m, kernel.n, kernel.k};
  const AnalyticTile found = analytic_tile(kernel, gpu);
  const GemmLaunchOptions options = {.threads = found.threads, .registers = found.registers};
  decomposition.cut = product_cut(found.tile, TileOrigin::analytic, found.by);
  decomposition.launches.push_back(
      gemm_launch(name, found.tile, shape, kernel.dtype, options, gpu));
  append_reduction(decomposition, shape, found.tile.split_k);
}

}  // namespace foretoken
