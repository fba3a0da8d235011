// A mixture-of-experts layer as a sequence of launches: align (sort tokens by expert), gate-up
// product, activation, down product, weighted sum. Triton's plan is vLLM's and SGLang's fused_moe:
// each expert's rows are padded to a multiple of the tile. CUTLASS's grouped products and the
// closed trtllm kernels share its skeleton with tiles of their own. All for the rank with most
// tokens.
#include <algorithm>

#include "kernels/decomposers/gemm_launch.hpp"
#include "kernels/expert_load.hpp"

namespace foretoken {
namespace {

constexpr double index_bytes = 4;  // sorted token ids and expert ids: int32

struct MoeTile {
  TileConfig tile;
  GemmLaunchOptions options;
};

MoeTile triton_config(int m, int n, int k, int stages, int warps) {
  return {{.m = m, .n = n, .k = k, .stages = stages}, {.threads = 32 * warps, .registers = 255}};
}

/// fused_moe's default configurations, for a shape and device without a tuned file.
MoeTile default_tile(const FusedMoe& kernel) {
  const bool is_small = kernel.tokens <= kernel.experts;
  if (kernel.dtype == DType::fp8_block) return triton_config(64, 128, 128, 3, 4);
  if (bytes_per_element(kernel.dtype) < 2) {
    return is_small ? triton_config(64, 128, 128, 4, 4) : triton_config(128, 256, 128, 4, 8);
  }
  return is_small ? triton_config(16, 32, 64, 3, 4) : triton_config(64, 64, 32, 3, 4);
}

/// What vLLM's 134 tuned files for NVIDIA parts have most often at this many tokens an expert.
MoeTile tuned_tile(const FusedMoe& kernel) {
  const double tokens_expert = static_cast<double>(kernel.tokens) / kernel.experts;
  if (kernel.dtype == DType::fp8_block) {
    return triton_config(tokens_expert < 1.5 ? 16 : 64, 128, 128, 3, 4);
  }
  if (bytes_per_element(kernel.dtype) < 2) {
    return tokens_expert < 24 ? triton_config(64, 128, 128, 4, 4)
                              : triton_config(128, 256, 128, 4, 8);
  }
  if (tokens_expert < 0.5) return triton_config(16, 64, 64, 4, 4);
  if (tokens_expert < 6) return triton_config(16, 128, 128, 3, 4);
  if (tokens_expert < 24) return triton_config(64, 128, 128, 3, 4);
  if (tokens_expert < 48) return triton_config(64, 256, 64, 3, 8);
  return triton_config(128, 256, 64, 4, 8);
}

/// Tuned files exist for most published shapes on data-centre parts, and for few on others.
bool is_tuned(const GpuSpec& gpu) {
  return gpu.compute_capability == 80 ||
         (gpu.compute_capability >= 90 && gpu.compute_capability < 120);
}

/// Grouped products: as many rows as an expert has on average, at least 16 and at most `rows_max`.
MoeTile grouped_tile(const FusedMoe& kernel, const std::vector<std::int64_t>& rows, int rows_max) {
  std::int64_t total = 0;
  std::int64_t active = 0;
  for (const std::int64_t count : rows) {
    total += count;
    active += count > 0 ? 1 : 0;
  }
  const std::int64_t mean = ceil_div(total, std::max<std::int64_t>(1, active));
  const auto m = std::clamp<std::int64_t>(power_of_two_at_least(mean), 16, rows_max);
  const int depth = bytes_per_element(kernel.dtype) < 2 ? 128 : 64;
  return {{.m = static_cast<int>(m), .n = 128, .k = depth, .stages = 4},
          {.scheduling = Scheduling::persistent, .threads = 384, .registers = 168}};
}

struct MoeSizes {
  std::int64_t assignments = 0;  // of this rank
  std::int64_t blocks = 0;       // row tiles, padding included
  std::int64_t width = 0;        // of this rank's slice of an expert
};

MoeSizes sizes_of(const FusedMoe& kernel, const std::vector<std::int64_t>& rows, int tile_m) {
  MoeSizes sizes;
  sizes.width = ceil_div(kernel.intermediate, kernel.tp);
  for (const std::int64_t count : rows) {
    sizes.assignments += count;
    sizes.blocks += ceil_div(count, tile_m);
  }
  return sizes;
}

Launch expert_gemm(std::string_view name, const MoeTile& choice, const MoeSizes& sizes,
                   std::int64_t columns, std::int64_t depth, const FusedMoe& kernel,
                   const GpuSpec& gpu) {
  const TileConfig& tile = choice.tile;
  const GemmShape padded{sizes.blocks * tile.m, columns, depth};
  return gemm_launch(name, tile, padded, kernel.dtype, choice.options, gpu);
}

Launch align_launch(const FusedMoe& kernel, const MoeSizes& sizes) {
  const Task task = {.bytes_loaded = static_cast<double>(sizes.assignments) * index_bytes * 2};
  Launch launch = uniform_launch("moe_align", task, 1, 1024, 32);
  launch.shape.shared_memory = Bytes(index_bytes * (kernel.experts + 1.0));
  return launch;
}

Launch activation_launch(const MoeSizes& sizes) {
  const auto width = static_cast<double>(sizes.width);
  const Task task = {.fma_ops = 4 * width, .xu_ops = 2 * width, .bytes_loaded = 4 * width};
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(sizes.width / 8, 32, 1024));
  return uniform_launch("silu_and_mul", task, sizes.assignments, threads, 31);
}

/// Sums the top k rows of each token, 2,048 columns a CTA.
Launch sum_launch(const FusedMoe& kernel) {
  constexpr std::int64_t columns_cta = 2048;
  const auto columns = static_cast<double>(std::min(columns_cta, kernel.hidden));
  const Task task = {.fma_ops = columns * kernel.topk, .bytes_loaded = 2 * columns * kernel.topk};
  return uniform_launch("moe_sum", task, kernel.tokens * ceil_div(kernel.hidden, columns_cta), 512,
                        32);
}

Decomposition moe_layer(const FusedMoe& kernel, const std::vector<std::int64_t>& rows,
                        const MoeTile& choice, const GpuSpec& gpu) {
  const MoeSizes sizes = sizes_of(kernel, rows, choice.tile.m);
  const bool is_narrow = bytes_per_element(kernel.dtype) < activation_bytes(kernel.dtype) &&
                         !is_weight_only(kernel.dtype);
  Decomposition result;
  std::vector<Launch>& launches = result.launches;
  if (is_narrow) launches.push_back(quantise_launch(kernel.tokens, kernel.hidden, kernel.dtype));
  launches.push_back(align_launch(kernel, sizes));
  launches.push_back(
      expert_gemm("moe_gate_up", choice, sizes, 2 * sizes.width, kernel.hidden, kernel, gpu));
  launches.push_back(activation_launch(sizes));
  if (is_narrow) {
    launches.push_back(quantise_launch(sizes.assignments, sizes.width, kernel.dtype));
  }
  launches.push_back(
      expert_gemm("moe_down", choice, sizes, kernel.hidden, sizes.width, kernel, gpu));
  launches.push_back(sum_launch(kernel));
  return result;
}

}  // namespace

Decomposition decompose_triton_moe(const FusedMoe& kernel, const GpuSpec& gpu) {
  const bool is_from_files = is_tuned(gpu);
  Decomposition result = moe_layer(kernel, busiest_rank_rows(kernel),
                                   is_from_files ? tuned_tile(kernel) : default_tile(kernel), gpu);
  if (is_from_files) {
    result.approximation =
        "Triton tiles as vLLM's tuned files have most often at this many tokens an expert; the "
        "file "
        "for the very shape may differ";
  }
  return result;
}

Decomposition decompose_cutlass_moe(const FusedMoe& kernel, const GpuSpec& gpu) {
  const std::vector<std::int64_t> rows = busiest_rank_rows(kernel);
  Decomposition result = moe_layer(kernel, rows, grouped_tile(kernel, rows, 128), gpu);
  result.approximation =
      "CUTLASS's grouped products tune their tile at run time: rows as an expert has on average "
      "(16 to 128) by 128 columns stand in";
  return result;
}

Decomposition decompose_marlin_moe(const FusedMoe& kernel, const GpuSpec& gpu) {
  const std::vector<std::int64_t> rows = busiest_rank_rows(kernel);
  Decomposition result = moe_layer(kernel, rows, grouped_tile(kernel, rows, 64), gpu);
  result.approximation =
      "Marlin's experts hand stripes of tiles to persistent CTAs: rows as an expert has on average "
      "(16 to 64) by 128 columns stand in";
  return result;
}

Decomposition decompose_trtllm_moe(const FusedMoe& kernel, const GpuSpec& gpu) {
  const std::vector<std::int64_t> rows = busiest_rank_rows(kernel);
  Decomposition result = moe_layer(kernel, rows, grouped_tile(kernel, rows, 256), gpu);
  result.approximation =
      "trtllm's expert kernels are closed: rows as an expert has on average (16 to 256) by 128 "
      "columns stand in; operations and bytes are right, tiles are assumed";
  return result;
}

}  // namespace foretoken
