// A mixture-of-experts layer as a sequence of launches: align (sort tokens by expert), gate-up
// product, activation, down product, weighted sum. Triton's plan is vLLM's and SGLang's fused_moe:
// each expert's rows are padded to a multiple of the tile. CUTLASS's grouped products and the
// closed trtllm kernels share its skeleton with tiles of their own. All for the rank with most
// tokens.
#include <algorithm>

#include "kernels/kernel_work.hpp"
#include "kernels/tasks/decomposers/gemm_launch.hpp"
#include "kernels/tasks/expert_tile.hpp"

namespace foretoken {
namespace {

constexpr double expert_index_bytes = 4;  // sorted token ids and expert ids: int32

/// A tile and what its CTAs are.
struct ExpertCut {
  TileConfig tile;
  GemmLaunchOptions options;
};

ExpertCut triton_cut(const FusedMoe& kernel, const ExpertTile& tile) {
  const LaunchShape cta = expert_launch_shape(tile, kernel.dtype);
  return {{.m = tile.rows, .n = tile.columns, .k = tile.depth, .stages = expert_stages},
          {.threads = cta.threads, .registers = cta.registers_per_thread}};
}

/// CUTLASS's, Marlin's and TensorRT-LLM's: persistent CTAs.
ExpertCut grouped_cut(const FusedMoe& kernel, const ExpertTile& tile) {
  const int depth = bytes_per_element(kernel.dtype) < 2 ? 128 : 64;
  return {{.m = tile.rows, .n = tile.columns, .k = depth, .stages = 4},
          {.scheduling = Scheduling::persistent, .threads = 384, .registers = 168}};
}

struct MoeSizes {
  std::int64_t rows = 0;    // of this rank that the activation and what is around it go over
  std::int64_t blocks = 0;  // row tiles, padding included
  std::int64_t width = 0;   // of this rank's slice of an expert
};

MoeSizes sizes_of(const FusedMoe& kernel, const std::vector<std::int64_t>& rows, int tile_m) {
  MoeSizes sizes;
  sizes.width = ceil_div(kernel.intermediate, kernel.tp);
  for (const std::int64_t count : rows) {
    sizes.rows += count;
    sizes.blocks += ceil_div(count, tile_m);
  }
  return sizes;
}

Launch expert_gemm(std::string_view name, const ExpertCut& choice, const MoeSizes& sizes,
                   std::int64_t columns, std::int64_t depth, const FusedMoe& kernel,
                   const GpuSpec& gpu) {
  const TileConfig& tile = choice.tile;
  const GemmShape padded{sizes.blocks * tile.m, columns, depth};
  Launch launch = gemm_launch(name, tile, padded, kernel.dtype, choice.options, gpu);
  launch.tensor_dtype = product_format(kernel.dtype, gpu);
  return launch;
}

Launch align_launch(const FusedMoe& kernel, const MoeSizes& sizes) {
  const Task task = {.bytes_loaded = static_cast<double>(sizes.rows) * expert_index_bytes * 2};
  Launch launch = uniform_launch("moe_align", task, 1, 1024, 32);
  launch.shape.shared_memory = Bytes(expert_index_bytes * (kernel.experts + 1.0));
  return launch;
}

Launch activation_launch(const FusedMoe& kernel, const MoeSizes& sizes) {
  const auto width = static_cast<double>(sizes.width);
  const Task task =
      kernel.ungated ? Task{.fma_ops = 2 * width, .bytes_loaded = 2 * width}
                     : Task{.fma_ops = 4 * width, .xu_ops = 2 * width, .bytes_loaded = 4 * width};
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(sizes.width / 8, 32, 1024));
  return uniform_launch(kernel.ungated ? "relu2" : "silu_and_mul", task, sizes.rows, threads, 31);
}

/// Sums the top k rows of each token, 2,048 columns a CTA.
Launch sum_launch(const FusedMoe& kernel) {
  constexpr std::int64_t columns_cta = 2048;
  const auto columns = static_cast<double>(std::min(columns_cta, kernel.hidden));
  const Task task = {.fma_ops = columns * kernel.topk, .bytes_loaded = 2 * columns * kernel.topk};
  return uniform_launch("moe_sum", task, kernel.tokens * ceil_div(kernel.hidden, columns_cta), 512,
                        32);
}

/// DeepGEMM's: room for every expert, used or not.
MoeSizes contiguous_sizes(const FusedMoe& kernel, const ExpertLoad& load, int tile_m) {
  const auto rows = static_cast<std::int64_t>(contiguous_rows(kernel, load));
  return {rows, rows / tile_m, ceil_div(kernel.intermediate, kernel.tp)};
}

Decomposition moe_layer(const FusedMoe& kernel, const ExpertCut& choice, const MoeSizes& sizes,
                        const GpuSpec& gpu) {
  const bool is_narrow = bytes_per_element(kernel.dtype) < activation_bytes(kernel.dtype) &&
                         !is_weight_only(kernel.dtype);
  Decomposition result;
  std::vector<Launch>& launches = result.launches;
  if (is_narrow) launches.push_back(quantise_launch(kernel.tokens, kernel.hidden, kernel.dtype));
  launches.push_back(align_launch(kernel, sizes));
  launches.push_back(
      kernel.ungated
          ? expert_gemm("moe_up", choice, sizes, sizes.width, kernel.hidden, kernel, gpu)
          : expert_gemm("moe_gate_up", choice, sizes, 2 * sizes.width, kernel.hidden, kernel, gpu));
  launches.push_back(activation_launch(kernel, sizes));
  if (is_narrow) {
    launches.push_back(quantise_launch(sizes.rows, sizes.width, kernel.dtype));
  }
  launches.push_back(
      expert_gemm("moe_down", choice, sizes, kernel.hidden, sizes.width, kernel, gpu));
  launches.push_back(sum_launch(kernel));
  return result;
}

std::string_view approximation_of(MoeStyle style) {
  switch (style) {
    case MoeStyle::trtllm:
      return "trtllm's expert kernels are closed: rows as an expert has on average (8 to 128) by "
             "128 columns stand in; operations and bytes are right, tiles are assumed";
    case MoeStyle::marlin:
      return "Marlin's experts hand stripes of tiles to persistent CTAs: its tile's rows (8 to 64) "
             "by 128 columns stand in";
    case MoeStyle::deep_gemm:
      return "DeepGEMM chooses its columns a launch: 128 rows by 128 stand in, and room for every "
             "expert's rows is multiplied";
    case MoeStyle::deep_gemm_routed:
      return "DeepGEMM chooses its tile a launch: 64 rows by 128 stand in; rows come sorted, "
             "though "
             "a launch for that is shown";
    default:
      return "CUTLASS's grouped products tune their tile at run time: 128 x 128 stands in";
  }
}

}  // namespace

Decomposition decompose_triton_moe(const FusedMoe& kernel, const GpuSpec& gpu) {
  const ExpertTile tile = expert_tile(kernel, gpu, busiest_rank_load(kernel));
  const MoeSizes sizes = sizes_of(kernel, busiest_rank_rows(kernel), tile.rows);
  Decomposition result = moe_layer(kernel, triton_cut(kernel, tile), sizes, gpu);
  if (tile.is_tuned) {
    result.approximation =
        "Triton tiles as tuned files have most often at this many tokens an expert; the file for "
        "the very shape may differ";
  }
  return result;
}

Decomposition decompose_grouped_moe(const FusedMoe& kernel, const GpuSpec& gpu) {
  const ExpertLoad load = busiest_rank_load(kernel);
  const ExpertTile tile = expert_tile(kernel, gpu, load);
  const MoeStyle style = moe_style(kernel, gpu);
  const MoeSizes sizes = style == MoeStyle::deep_gemm
                             ? contiguous_sizes(kernel, load, tile.rows)
                             : sizes_of(kernel, busiest_rank_rows(kernel), tile.rows);
  Decomposition result = moe_layer(kernel, grouped_cut(kernel, tile), sizes, gpu);
  result.approximation = approximation_of(style);
  return result;
}

}  // namespace foretoken
