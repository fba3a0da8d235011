// Attention in Triton as vLLM ("unified attention") and SGLang (extend and split decode) write it,
// for parts and head sizes without a hand-written kernel. A CTA takes a tile of packed query rows
// of one KV head. One plan stands for both frameworks; their tile tables differ by part and
// version.
#include <algorithm>

#include "hardware/compute_capability.hpp"
#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr int triton_threads = 128;
constexpr int triton_registers = 255;
constexpr std::int64_t decode_splits = 16;      // segments of vLLM's three-dimensional decode grid
constexpr std::int64_t decode_ctas_full = 128;  // at which it stops splitting

struct TritonPlan {
  std::int64_t tile_q = 16;
  std::int64_t tile_kv = 32;
  std::int64_t splits = 1;
};

TritonPlan plan_for(const Attention& kernel, bool is_decode, std::int64_t batch,
                    const GpuSpec& gpu) {
  const std::int64_t group = kernel.query_heads / kernel.kv_heads;
  TritonPlan plan;
  if (!kernel.causal) {
    // SGLang's encoders (triton_ops/prefill_attention.py, 0.5): square blocks.
    plan.tile_q = plan.tile_kv = gpu.compute_capability >= hopper ? 128 : 64;
    return plan;
  }
  plan.tile_q = std::max<std::int64_t>(16, power_of_two_at_least(group));
  if (is_decode) {
    plan.splits = batch * kernel.kv_heads >= decode_ctas_full ? 1 : decode_splits;
  } else {
    plan.tile_q = std::max<std::int64_t>(plan.tile_q, kernel.head_dim > 128 ? 64 : 128);
    plan.tile_kv = 64;
  }
  return plan;
}

Launch triton_launch(const Attention& kernel, const SliceRuns& runs, const TritonPlan& plan) {
  const std::int64_t group = kernel.query_heads / kernel.kv_heads;
  const double size = bytes_per_element(kernel.kv_dtype);
  Launch launch;
  launch.name = "triton_attention";
  launch.tensor_dtype = score_dtype(kernel.dtype);
  launch.repeats = kernel.kv_heads;
  launch.shape.threads = triton_threads;
  launch.shape.registers_per_thread = triton_registers;
  launch.shape.shared_memory =
      Bytes(2.0 * static_cast<double>(plan.tile_kv) * kernel.head_dim * size);
  const AttentionTasks cost(attention_tile(kernel, plan.tile_q, plan.tile_kv));
  for (const SliceRun& run : runs) {
    append_times(launch.tasks, run.count, [&](TaskList& list) {
      for (std::int64_t t = 0; t < ceil_div(run.slice.query_tokens * group, plan.tile_q); ++t) {
        const std::int64_t end =
            std::min(run.slice.query_tokens, ceil_div((t + 1) * plan.tile_q, group));
        const KeySpan seen =
            visible_keys(run.slice, t * plan.tile_q / group, end, kernel.causal, kernel.window);
        append_parts(list, cost, seen.size(), plan.splits);
      }
    });
  }
  launch.shape.grid_x = launch.task_count() / launch.repeats;
  launch.shape.grid_y = launch.repeats;
  return launch;
}

}  // namespace

Decomposition decompose_triton_attention(const Attention& kernel, const GpuSpec& gpu) {
  const SliceRuns runs = slice_runs(kernel.load, LoadPart::all);
  const bool is_decode = kernel.load.prefill.sequences == 0 && !kernel.load.verifies_drafts();
  const TritonPlan plan = plan_for(kernel, is_decode, kernel.load.decode.sequences, gpu);
  Decomposition result;
  result.launches.push_back(triton_launch(kernel, runs, plan));
  result.plan = AttentionPlan{.cta_tile_q = static_cast<int>(plan.tile_q),
                              .cta_tile_kv = static_cast<int>(plan.tile_kv),
                              .padded_batch = result.launches[0].task_count() / kernel.kv_heads,
                              .is_split = plan.splits > 1};
  if (plan.splits > 1) {
    std::vector<MergeRun> merges;
    for (const SliceRun& run : runs)
      merges.push_back({run.count * kernel.query_heads, plan.splits});
    result.launches.push_back(merge_states_launch(merges, kernel.head_dim, gpu));
    result.launches.back().name = "triton_attention_reduce";
  }
  result.approximation =
      "one Triton plan (vLLM's unified attention) stands for both frameworks' kernels and tile "
      "tables; operations and bytes are right, tiles are assumed";
  return result;
}

}  // namespace foretoken
