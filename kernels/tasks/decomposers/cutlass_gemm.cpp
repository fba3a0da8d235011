// CUTLASS products of narrow operands as vLLM and SGLang dispatch them ("scaled mm"). The tables
// are vLLM's: csrc/quantization/w8a8/cutlass of 2025 for compute capabilities 8.0, 8.9 and 9.0, per
// tensor and blockwise. Later NVIDIA parts, and 4-bit operands, take the cheapest of a tile family
// (NeuSight prices a B200 that it was not trained on 34 % off with it, 39 % with what a tile model
// selects), AMD parts what a tile model selects; both are declared. The activations are quantised
// in a launch of their own.
#include "hardware/compute_capability.hpp"
#include "kernels/tasks/decomposers/gemm_launch.hpp"

namespace foretoken {
namespace {

constexpr std::string_view assumed_tiles =
    "CUTLASS tiles beyond compute capability 9.0 are the cheapest of a family, not vLLM's table";

struct CutlassChoice {
  TileConfig tile;
  Scheduling scheduling = Scheduling::hardware;
  bool is_swapped = false;  // computes the transpose: a small m then runs along the tile's n
};

/// Per tensor or token, compute capability 9.0.
CutlassChoice hopper_fp8(const GemmShape& shape) {
  const auto swapped = [](int tile_features, int tile_tokens, int cluster) {
    return CutlassChoice{
        .tile = {.m = tile_tokens, .n = tile_features, .k = 256, .stages = 6, .cluster_m = cluster},
        .scheduling = Scheduling::persistent,
        .is_swapped = true};
  };
  if (shape.m <= 16) return swapped(64, 16, shape.n <= 1280 ? 2 : 1);
  if (shape.m <= 64) return shape.n <= 1280 ? swapped(64, 16, 4) : swapped(64, 64, 1);
  const int tile_m = shape.m <= 128 ? 64 : 128;
  return {.tile = {.m = tile_m, .n = 128, .k = 128, .stages = 6, .cluster_m = 2},
          .scheduling = Scheduling::persistent};
}

/// 1x128 activation and 128x128 weight scales, compute capability 9.0.
CutlassChoice hopper_blockwise(const GemmShape& shape) {
  return {.tile = {.m = 128, .n = 128, .k = 128, .stages = 6, .cluster_n = 2},
          .scheduling = shape.k > 3 * shape.n ? Scheduling::stream_k : Scheduling::persistent};
}

struct SizedTile {
  std::int64_t n_max;
  TileConfig tile;
};

TileConfig first_that_covers(std::span<const SizedTile> tiles, std::int64_t n) {
  for (const SizedTile& entry : tiles) {
    if (n <= entry.n_max) return entry.tile;
  }
  return tiles.back().tile;
}

constexpr std::int64_t any_n = std::int64_t{1} << 62;

TileConfig tile_of(int m, int n, int k, int stages) {
  return {.m = m, .n = n, .k = k, .stages = stages};
}

/// Compute capability 8.9. The last rule of a list holds for any larger n.
TileConfig ada_fp8(const GemmShape& shape) {
  const std::int64_t n2 = power_of_two_at_least(shape.n);
  const auto choose = [&](std::initializer_list<SizedTile> tiles) {
    return first_that_covers({tiles.begin(), tiles.size()}, n2);
  };
  if (shape.m <= 16) {
    return choose({{8192, tile_of(16, 64, 128, 5)},
                   {24576, tile_of(16, 128, 64, 5)},
                   {any_n, tile_of(32, 64, 128, 5)}});
  }
  if (shape.m <= 32) {
    return choose({{8192, tile_of(32, 64, 128, 5)},
                   {16384, tile_of(32, 128, 128, 4)},
                   {any_n, tile_of(32, 64, 128, 5)}});
  }
  if (shape.m <= 64) {
    return choose({{8196, tile_of(64, 64, 128, 5)},
                   {16384, tile_of(64, 128, 128, 3)},
                   {any_n, tile_of(64, 64, 128, 5)}});
  }
  if (shape.m <= 128) {
    return choose({{8192, tile_of(64, 128, 128, 3)},
                   {16384, tile_of(128, 128, 64, 5)},
                   {any_n, tile_of(128, 64, 128, 3)}});
  }
  if (shape.m <= 256) {
    return choose({{4096, tile_of(64, 128, 128, 3)}, {any_n, tile_of(128, 128, 64, 5)}});
  }
  return choose({{4096, tile_of(128, 128, 64, 5)},
                 {8192, tile_of(256, 128, 64, 3)},
                 {any_n, tile_of(128, 128, 64, 5)}});
}

/// int8, compute capability 8.0.
TileConfig ampere_int8(const GemmShape& shape) {
  if (shape.m <= 16) return tile_of(16, 64, 128, 5);
  if (shape.m <= 32) return tile_of(32, 64, 128, 5);
  if (shape.m <= 64) return tile_of(64, 128, 128, 5);
  if (shape.m <= 128 && shape.n < 8192) return tile_of(64, 128, 128, 5);
  return tile_of(128, 128, 64, 5);
}

constexpr auto blackwell_family = std::to_array<TileConfig>({
    {.m = 64, .n = 64, .k = 128, .stages = 8},
    {.m = 64, .n = 128, .k = 128, .stages = 6},
    {.m = 128, .n = 64, .k = 128, .stages = 6},
    {.m = 128, .n = 128, .k = 128, .stages = 5},
    {.m = 256, .n = 128, .k = 128, .stages = 4},
});

CutlassChoice choose(const Gemm& kernel, const GemmShape& shape, const GpuSpec& gpu) {
  if (gpu.compute_capability == hopper && kernel.dtype == DType::fp8) return hopper_fp8(shape);
  if (gpu.compute_capability == hopper && kernel.dtype == DType::fp8_block) {
    return hopper_blockwise(shape);
  }
  if (gpu.compute_capability == ada && kernel.dtype == DType::fp8) return {.tile = ada_fp8(shape)};
  if (gpu.compute_capability < hopper) return {.tile = ampere_int8(shape)};
  return {.tile = cheapest_tile(blackwell_family, shape, kernel.dtype, gpu),
          .scheduling = Scheduling::persistent};
}

bool has_table(const Gemm& kernel, const GpuSpec& gpu) {
  const bool is_fp8 = kernel.dtype == DType::fp8 || kernel.dtype == DType::fp8_block;
  if (gpu.compute_capability == hopper) return is_fp8;
  if (gpu.compute_capability == ada && kernel.dtype == DType::fp8) return true;
  return gpu.compute_capability == ampere && kernel.dtype == DType::int8;
}

ProductCut cut_of(const CutlassChoice& choice, const Gemm& kernel, const GpuSpec& gpu) {
  if (has_table(kernel, gpu)) return product_cut(choice.tile, TileOrigin::library, "vLLM's table");
  if (gpu.compute_capability < hopper) {
    return product_cut(choice.tile, TileOrigin::library, "vLLM's table of int8 on the A100");
  }
  return product_cut(choice.tile, TileOrigin::analytic, "the cheapest of CUTLASS's family");
}

}  // namespace

Decomposition decompose_cutlass_gemm(const Gemm& kernel, const GpuSpec& gpu) {
  Decomposition result;
  append_quantisation(result, kernel);
  if (gpu.vendor == GpuVendor::amd) {
    append_selected_product(result, "hipblaslt_tiled", kernel, gpu);
    result.approximation = "CUTLASS does not run on such a GPU: a tile model's tile stands in";
    return result;
  }
  const GemmShape shape{kernel.m, kernel.n, kernel.k};
  const CutlassChoice choice = choose(kernel, shape, gpu);
  const bool is_persistent = choice.scheduling != Scheduling::hardware;
  const GemmLaunchOptions options = {.scheduling = choice.scheduling,
                                     .threads = is_persistent ? 384 : 128,
                                     .registers = is_persistent ? 168 : 255};
  result.cut = cut_of(choice, kernel, gpu);
  result.launches.push_back(gemm_launch(choice.is_swapped ? "cutlass_swapped" : "cutlass",
                                        choice.tile, shape, kernel.dtype, options, gpu));
  if (!has_table(kernel, gpu)) result.approximation = assumed_tiles;
  return result;
}

Decomposition decompose_cute_dsl_gemm(const Gemm& kernel, const GpuSpec& gpu) {
  Decomposition result = decompose_cutlass_gemm(kernel, gpu);
  result.launches.back().name = "cute_dsl";
  result.cut->origin = TileOrigin::analytic;
  result.approximation =
      "FlashInfer's CuTe DSL products tune their tile at run time: the cheapest of CUTLASS's "
      "family stands in";
  return result;
}

}  // namespace foretoken
