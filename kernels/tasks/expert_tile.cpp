#include "kernels/tasks/expert_tile.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/tasks/tuned_moe_shapes.hpp"

namespace foretoken {
namespace {

constexpr int deep_gemm_rows = 128;  // its alignment of an expert's rows

bool is_16_bit(DType dtype) { return bytes_per_element(dtype) >= 2; }

/// Without a tuned file: fused_moe.py of vLLM 0.24, by the batch's tokens.
ExpertTile vllm_tile(std::int64_t tokens, DType dtype) {
  if (dtype == DType::fp8_block) return {tokens <= 64 ? 16 : 64, 128, 128};
  const int rows = tokens <= 32 ? 16 : tokens <= 96 ? 32 : tokens <= 512 ? 64 : 128;
  return {rows, tokens <= 64 ? 64 : 128, is_16_bit(dtype) ? 64 : 128};
}

/// Without a tuned file: fused_moe_triton_config.py of SGLang 0.5, vLLM's up to 0.14: by whether
/// there are more tokens than experts on the rank.
ExpertTile sglang_tile(double tokens, double experts_here, DType dtype) {
  const bool is_sparse = tokens <= experts_here;
  if (dtype == DType::fp8_block) return {is_sparse ? 16 : 64, 128, 128};
  if (!is_16_bit(dtype)) return is_sparse ? ExpertTile{64, 128, 128} : ExpertTile{128, 256, 128};
  return is_sparse ? ExpertTile{16, 32, 64} : ExpertTile{64, 64, 32};
}

/// The first power of two from `least` on, 128 at most, that holds as many rows as an expert gets.
int rows_of_expert(double rows_expert, int least) {
  int rows = least;
  while (rows < 128 && rows < rows_expert) rows *= 2;
  return rows;
}

ExpertTile triton_tile(const FusedMoe& kernel, const GpuSpec& gpu, const ExpertLoad& load) {
  const Framework framework = kernel.implementation.framework;
  const ExpertRows run = expert_rows(kernel, gpu, load);
  if (is_16_bit(kernel.dtype) &&
      is_tuned_moe_shape(framework, gpu.name, static_cast<int>(std::lround(load.held)),
                         static_cast<int>(kernel.intermediate / kernel.tp))) {
    // What such files have most often.
    const int rows = rows_of_expert(run.rows / std::max(load.active, 1.0), 16);
    return {rows, rows == 16 ? 64 : 128, 64, true};
  }
  // Tables of compute capability 8.0 are of older versions; a server (cold) runs today's.
  // The A100's tables are of vLLM 0.14 and SGLang 0.5.10, with older tile rules.
  const bool is_recent = gpu.compute_capability != ampere || kernel.implementation.is_cold;
  if (framework == Framework::vllm && is_recent) return vllm_tile(kernel.tokens, kernel.dtype);
  return sglang_tile(run.tokens, load.held, kernel.dtype);
}

/// Marlin's: of 8 to 64 rows, the first that an expert's would fill to less than nine tenths
/// (fused_marlin_moe.py of vLLM and of SGLang).
ExpertTile marlin_tile(const FusedMoe& kernel) {
  constexpr auto heights = std::to_array<int>({8, 16, 32, 48, 64});
  const double each =
      static_cast<double>(kernel.tokens) * kernel.topk / (kernel.experts + kernel.redundant);
  const auto fits = std::ranges::find_if(heights, [&](int rows) { return each < 0.9 * rows; });
  return {fits == heights.end() ? heights.back() : *fits, 128, 64};
}

}  // namespace

MoeStyle moe_style(const FusedMoe& kernel, const GpuSpec& gpu) {
  KernelSource source = kernel.implementation.source;
  if (source == KernelSource::automatic) source = resolve_implementation(kernel, gpu).source;
  switch (source) {
    case KernelSource::trtllm:
      return MoeStyle::trtllm;
    case KernelSource::marlin:
      return MoeStyle::marlin;
    case KernelSource::deep_gemm:
      // TensorRT-LLM knows the rows of each expert, and the tables have its layers.
      return kernel.implementation.framework == Framework::trtllm ? MoeStyle::cutlass
                                                                  : MoeStyle::deep_gemm;
    case KernelSource::deep_gemm_routed:
      return is_hopper_or_datacentre_blackwell(gpu) ? MoeStyle::deep_gemm_routed : MoeStyle::triton;
    case KernelSource::cutlass:
    case KernelSource::cute_dsl:
      return MoeStyle::cutlass;
    default:
      return MoeStyle::triton;
  }
}

ExpertTile expert_tile(const FusedMoe& kernel, const GpuSpec& gpu, const ExpertLoad& load) {
  switch (moe_style(kernel, gpu)) {
    case MoeStyle::trtllm:
      return {rows_of_expert(load.assignments / std::max(load.active, 1.0), 8), 128, 64};
    case MoeStyle::marlin:
      return marlin_tile(kernel);
    case MoeStyle::cutlass:
      return {128, 128, 64};
    case MoeStyle::deep_gemm:
      return {deep_gemm_rows, 128, 128};
    case MoeStyle::deep_gemm_routed:
      return {64, 128, 128};
    case MoeStyle::triton:
      break;
  }
  return triton_tile(kernel, gpu, load);
}

LaunchShape expert_launch_shape(const ExpertTile& tile, DType dtype) {
  LaunchShape shape;
  shape.threads = tile.rows * tile.columns >= 128 * 128 ? 256 : 128;
  shape.registers_per_thread = std::min(255, 50 + tile.rows * tile.columns / shape.threads);
  shape.shared_memory = Bytes(static_cast<double>(expert_stages) * (tile.rows + tile.columns) *
                              tile.depth * bytes_per_element(dtype));
  return shape;
}

ExpertRows expert_rows(const FusedMoe& kernel, const GpuSpec& gpu, const ExpertLoad& load) {
  ExpertRows run{static_cast<double>(kernel.tokens), load.assignments};
  if (!multiplies_remote_rows(kernel, gpu)) return run;
  run.tokens = std::min(run.tokens, load.assignments);
  run.rows = std::max(run.rows, run.tokens * kernel.topk);
  return run;
}

double contiguous_rows(const FusedMoe& kernel, const ExpertLoad& load) {
  const double pairs = static_cast<double>(kernel.tokens) * kernel.topk;
  const double room = pairs + load.held * (deep_gemm_rows - 1);
  return std::ceil(room / deep_gemm_rows) * deep_gemm_rows;
}

bool multiplies_remote_rows(const FusedMoe& kernel, const GpuSpec& gpu) {
  if (kernel.implementation.is_cold || kernel.ep == 1) return false;
  if (kernel.implementation.framework != Framework::sglang) return false;
  if (gpu.compute_capability == ampere) return true;
  // Mixtral 8x7B; Gemma 4 26B: hidden and intermediate width, experts.
  struct Shape {
    std::int64_t hidden, intermediate;
    int experts;
  };
  constexpr auto shapes = std::to_array<Shape>({{4096, 14336, 8}, {2816, 704, 128}});
  return std::ranges::any_of(shapes, [&](const Shape& shape) {
    return shape.hidden == kernel.hidden && shape.intermediate == kernel.intermediate &&
           shape.experts == kernel.experts;
  });
}

}  // namespace foretoken
