// TensorRT-LLM's attention for Blackwell (trtllm-gen, shipped as binaries inside FlashInfer): the
// kernels are closed, so this is a declared approximation. Prefill: 256 queries of a head by 128
// keys, one CTA a SM (before Blackwell fmha_v2: 128 queries). Decode: one tile of 8 to 64
// packed query heads a KV head, and a context split over as many CTAs as the SMs have room for.
#include <algorithm>

#include "hardware/compute_capability.hpp"
#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr int trtllm_tile_q = 256;
constexpr int trtllm_tile_q_before = 128;  // fmha_v2, before Blackwell
constexpr int trtllm_tile_kv = 128;
constexpr int trtllm_threads = 384;
constexpr int trtllm_registers = 168;
// Query heads a KV head beyond which TensorRT-LLM takes its masked kernel (the tables, all GPUs).
constexpr std::int64_t trtllm_group_max = 32;
constexpr int masked_threads = 256;
constexpr int masked_registers = 64;

/// Before Hopper no kernel reads fp8 keys but one that gives each KV head's context to one CTA: on
/// an L40S 131,072 keys take 4.2 ms of one SM, whatever idles beside it.
bool walks_alone(const Attention& kernel, const GpuSpec& gpu) {
  return kernel.implementation.framework == Framework::trtllm && gpu.compute_capability < hopper &&
         kernel.query_heads > kernel.kv_heads && bytes_per_element(kernel.kv_dtype) < 2;
}

/// TensorRT-LLM's masked multi-head attention: a CTA a query head, on CUDA cores, that shares no
/// key with the other heads of its group. Blackwell's own kernels take single heads as well.
bool runs_masked(const Attention& kernel, std::int64_t queries, const GpuSpec& gpu) {
  const bool decodes = kernel.causal && queries == 1;
  if (kernel.implementation.framework != Framework::trtllm || !decodes) return false;
  const std::int64_t group = kernel.query_heads / kernel.kv_heads;
  return group > trtllm_group_max || (group == 1 && !is_datacentre_blackwell(gpu));
}

/// Of every sequence, as the longest one asks for (flashinfer-ai/flashinfer, fmhaKernels.cuh, which
/// takes no fewer than 512 keys: 128 stand for what tables show of short contexts).
std::int64_t splits_of(const SliceRuns& runs, std::int64_t ctas, const GpuSpec& gpu) {
  std::int64_t longest = 1;
  for (const SliceRun& run : runs) longest = std::max(longest, run.slice.context_tokens);
  const std::int64_t blocks = ceil_div(longest, trtllm_tile_kv);
  return std::clamp<std::int64_t>(gpu.sm_count / std::max<std::int64_t>(1, ctas), 1, blocks);
}

Launch trtllm_launch(const Attention& kernel, std::string_view name, int tile_q) {
  const double size = bytes_per_element(score_dtype(kernel.dtype));
  Launch launch;
  launch.name = name;
  launch.tensor_dtype = score_dtype(kernel.dtype);
  launch.repeats = kernel.kv_heads;
  launch.shape.threads = trtllm_threads;
  launch.shape.registers_per_thread = trtllm_registers;
  // Outputs accumulate in tensor memory: shared memory holds queries and two stages of K and V.
  launch.shape.shared_memory = Bytes((tile_q + 4.0 * trtllm_tile_kv) * kernel.head_dim * size);
  return launch;
}

/// By query head: times on a B200 follow their number, whatever share a KV head.
Launch trtllm_prefill(const Attention& kernel, const SliceRuns& runs, int tile_q) {
  Launch launch = trtllm_launch(kernel, "trtllm_context", tile_q);
  launch.repeats = kernel.query_heads;
  const AttentionTasks cost(attention_tile(kernel, tile_q, trtllm_tile_kv));
  for (const SliceRun& run : runs) {
    append_times(launch.tasks, run.count, [&](TaskList& list) {
      for (std::int64_t t = ceil_div(run.slice.query_tokens, tile_q); t-- > 0;) {
        const std::int64_t begin = t * tile_q;
        const std::int64_t end = std::min(run.slice.query_tokens, begin + tile_q);
        const KeySpan seen = visible_keys(run.slice, begin, end, kernel.causal, kernel.window);
        append_tasks(list, cost.of(seen.size()), 1);
      }
    });
  }
  launch.shape.grid_x = launch.task_count();
  return launch;
}

Launch masked_launch(const Attention& kernel) {
  Launch launch;
  launch.name = "masked_attention";
  launch.tensor_dtype = score_dtype(kernel.dtype);
  launch.repeats = kernel.query_heads;
  launch.shape.threads = masked_threads;
  launch.shape.registers_per_thread = masked_registers;
  launch.shape.shared_memory = Bytes(4.0 * kernel.head_dim * masked_threads / 32);
  return launch;
}

Task on_cuda_cores(Task task) {
  task.fma_ops += task.tensor_ops;
  task.tensor_ops = 0;
  return task;
}

std::int64_t queries_max(const SliceRuns& runs) {
  std::int64_t queries = 1;
  for (const SliceRun& run : runs) queries = std::max(queries, run.slice.query_tokens);
  return queries;
}

Launch trtllm_decode(const Attention& kernel, const SliceRuns& runs, const GpuSpec& gpu) {
  const std::int64_t queries = queries_max(runs);
  const bool is_masked = runs_masked(kernel, queries, gpu);
  const std::int64_t group = is_masked ? 1 : kernel.query_heads / kernel.kv_heads;
  const std::int64_t tile_q =
      is_masked ? 1 : std::clamp<std::int64_t>(power_of_two_at_least(group * queries), 8, 64);
  Launch launch = is_masked ? masked_launch(kernel)
                            : trtllm_launch(kernel, "trtllm_generation", static_cast<int>(tile_q));
  const AttentionTile tile = attention_tile(kernel, tile_q, trtllm_tile_kv);
  std::int64_t ctas = 0;
  for (const SliceRun& run : runs) ctas += run.count * launch.repeats;
  const std::int64_t splits = walks_alone(kernel, gpu) ? 1 : splits_of(runs, ctas, gpu);
  TaskList one;
  for (const SliceRun& run : runs) {
    const KeySpan seen =
        visible_keys(run.slice, 0, run.slice.query_tokens, kernel.causal, kernel.window);
    const std::int64_t tiles = ceil_div(run.slice.query_tokens * group, tile_q);
    const std::int64_t share =
        ceil_div(ceil_div(seen.size(), trtllm_tile_kv), splits) * trtllm_tile_kv;
    one.clear();
    for (std::int64_t s = 0; s < splits; ++s) {
      const std::int64_t begin = seen.begin + s * share;
      const Task task = attention_task(tile, overlap(seen, {begin, begin + share}));
      append_tasks(one, is_masked ? on_cuda_cores(task) : task, tiles);
    }
    append_list(launch.tasks, one, run.count);
  }
  launch.shape.grid_x = launch.task_count();
  return launch;
}

}  // namespace

Decomposition decompose_trtllm_attention(const Attention& kernel, const GpuSpec& gpu) {
  Decomposition result;
  const SliceRuns prefill = slice_runs(kernel.load, LoadPart::prefill);
  const SliceRuns decode = slice_runs(kernel.load, LoadPart::decode);
  const int tile_q = is_datacentre_blackwell(gpu) ? trtllm_tile_q : trtllm_tile_q_before;
  result.plan = AttentionPlan{.cta_tile_q = tile_q, .cta_tile_kv = trtllm_tile_kv};
  if (!prefill.empty()) result.launches.push_back(trtllm_prefill(kernel, prefill, tile_q));
  if (!decode.empty()) result.launches.push_back(trtllm_decode(kernel, decode, gpu));
  if (prefill.empty() && !result.launches.empty()) {
    result.plan->is_split =
        result.launches[0].task_count() > kernel.load.decode.sequences * result.launches[0].repeats;
    result.plan->cta_tile_q = 0;
  }
  for (const Launch& launch : result.launches) {
    result.plan->padded_batch += launch.task_count() / launch.repeats;
  }
  result.approximation =
      "trtllm attention is closed: 256x128 prefill tiles and SM-filling decode splits stand in; "
      "operations and bytes are right, tiles and waves are assumed";
  return result;
}

}  // namespace foretoken
