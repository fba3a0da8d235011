#include "kernels/tasks/latent_generation.hpp"

#include <algorithm>

#include "hardware/compute_capability.hpp"
#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t swapped_rows = 16, few_rows = 8, kept_rows = 64, paired_heads = 128;
constexpr std::int64_t swapped_heads_max = 32, swapped_keys_max = 1024;
constexpr std::int64_t tile_keys = 128;
constexpr std::int64_t split_keys = 512;    // two steps of 256: fewer are not worth joining
constexpr std::int64_t swapped_step = 256;  // as the choice of the kernel reckons

/// Splits for which the SMs have room, of `keys` in parts of `part` or more.
std::int64_t splits_of(std::int64_t keys, std::int64_t part, std::int64_t ctas,
                       const GpuSpec& gpu) {
  const std::int64_t room = std::max<std::int64_t>(1, gpu.sm_count / ctas);
  return std::clamp<std::int64_t>(room, 1, std::max<std::int64_t>(1, ceil_div(keys, part)));
}

std::int64_t longest_context(const LoadSums& sums) {
  return std::max(sums.context_tokens_max, ceil_div(sums.context_tokens, sums.sequences));
}

}  // namespace

LatentGeneration latent_generation(const Mla& kernel, const GpuSpec& gpu) {
  const LoadSums& load = kernel.load.decode;
  FORETOKEN_CHECK(load.sequences > 0 && kernel.load.prefill.sequences == 0, "decodes alone");
  const std::int64_t rows = kernel.query_heads * ceil_div(load.query_tokens, load.sequences);
  const std::int64_t longest = longest_context(load);
  LatentGeneration plan;
  plan.row_ctas = ceil_div(rows, swapped_rows);
  const std::int64_t swapped_ctas = load.sequences * plan.row_ctas;
  const std::int64_t keys = ceil_div(longest, splits_of(longest, swapped_step, swapped_ctas, gpu));
  plan.swaps = kernel.query_heads <= swapped_heads_max ||
               (keys <= swapped_keys_max && swapped_ctas <= gpu.sm_count);
  if (plan.swaps) {
    if (rows <= few_rows) plan.rows = few_rows;
  } else {
    plan.rows = kept_rows;
    plan.are_paired = kernel.query_heads == paired_heads;
    plan.row_ctas = ceil_div(rows, kept_rows);
  }
  plan.splits = splits_of(longest, split_keys, load.sequences * plan.row_ctas, gpu);
  return plan;
}

Launch latent_generation_launch(const Mla& kernel, const GpuSpec& gpu) {
  const LatentGeneration plan = latent_generation(kernel, gpu);
  const double key_dim = kernel.latent_dim + kernel.rope_dim;
  const AttentionTile tile{
      .rows = plan.rows,
      .keys_step = tile_keys,
      .score_dim = key_dim,
      .value_dim = static_cast<double>(kernel.latent_dim),
      .query_bytes = key_dim * activation_bytes(kernel.dtype),
      .key_bytes = key_dim * bytes_per_element(kernel.kv_dtype) / (plan.are_paired ? 2 : 1)};
  Launch launch;
  launch.name = plan.swaps ? "trtllm_latent_swapped" : "trtllm_latent";
  const bool is_fp8 = bytes_per_element(kernel.kv_dtype) < 2;
  launch.tensor_dtype = is_fp8 ? DType::fp8 : score_dtype(kernel.dtype);
  launch.shape.threads = 384;
  launch.shape.registers_per_thread = 168;
  launch.shape.shared_memory = Bytes(static_cast<double>(tile_keys) * tile.key_bytes +
                                     static_cast<double>(plan.rows) * tile.query_bytes);
  for (const SliceRun& run : slice_runs(kernel.load, LoadPart::decode)) {
    const std::int64_t context = run.slice.context_tokens;
    const std::int64_t share = ceil_div(context, plan.splits);
    append_times(launch.tasks, run.count, [&](TaskList& list) {
      for (std::int64_t begin = 0; begin < context; begin += share) {
        append_tasks(list, attention_task(tile, std::min(share, context - begin)), plan.row_ctas);
      }
    });
  }
  launch.shape.grid_x = launch.task_count();
  return launch;
}

}  // namespace foretoken
