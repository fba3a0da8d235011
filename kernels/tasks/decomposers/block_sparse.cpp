// MiniMax-M3's attention to blocks of keys as vLLM's and SGLang's Triton kernels launch it over
// prompts (vllm-project/vllm, models/minimax_m3/common/ops; sgl-project/sglang,
// layers/attention/minimax_sparse_ops/prefill; read in August 2026): a CTA scores all blocks that
// 64 queries of an index head see, none is split along the keys; another picks those of one query;
// a third walks what a query picked, for the query heads of one KV head.
#include "kernels/tasks/block_sparse.hpp"

#include <algorithm>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr int block_threads = 128, block_registers = 168;
constexpr double score_bytes = 4;

constexpr std::string_view tuned_tile = "tiles are tuned on the GPU: 64 queries stand in";

Launch list_launch(std::string_view name, TaskList tasks, DType dtype) {
  std::int64_t count = 0;
  for (const TaskGroup& group : tasks) count += group.count;
  Launch launch = uniform_launch(name, {}, count, block_threads, block_registers);
  launch.tasks = std::move(tasks);
  launch.tensor_dtype = dtype;
  return launch;
}

/// Calls `visit(blocks, queries)` for the queries of a slice that see as many blocks, in order.
template <class Visit>
void for_equal_sights(const SequenceSlice& slice, std::int64_t block, const Visit& visit) {
  const std::int64_t before = slice.context_tokens - slice.query_tokens;
  for (std::int64_t query = 0; query < slice.query_tokens;) {
    const std::int64_t blocks = (before + query) / block + 1;
    const std::int64_t end = std::min(blocks * block - before, slice.query_tokens);
    visit(blocks, end - query);
    query = end;
  }
}

}  // namespace

Decomposition decompose_block_index(const KeyIndexer& kernel, const GpuSpec& /*gpu*/) {
  TaskList scores, picks;
  const double row = kernel.head_dim * bytes_per_element(kernel.dtype);
  for (const SliceRun& run : slice_runs(kernel.load, LoadPart::all)) {
    const std::int64_t queries = run.slice.query_tokens;
    append_times(scores, run.count * kernel.heads, [&](TaskList& tasks) {
      for (std::int64_t first = 0; first < queries; first += index_queries) {
        const KeySpan seen =
            visible_keys(run.slice, first, std::min(first + index_queries, queries), true, 0);
        const auto keys = static_cast<double>(round_up(seen.size(), kernel.block));
        append_tasks(tasks,
                     {.tensor_ops = 2 * index_queries * keys * kernel.head_dim,
                      .fma_ops = index_queries * keys,
                      .bytes_loaded = (index_queries + keys) * row},
                     1);
      }
    });
    append_times(picks, run.count * kernel.heads, [&](TaskList& tasks) {
      for_equal_sights(run.slice, kernel.block, [&](std::int64_t blocks, std::int64_t count) {
        const auto scored = static_cast<double>(blocks);
        append_tasks(tasks, {.fma_ops = scored, .bytes_loaded = scored * score_bytes}, count);
      });
    });
  }
  Decomposition result;
  result.launches.push_back(list_launch("block_scores", std::move(scores), kernel.dtype));
  result.launches.push_back(list_launch("block_picks", std::move(picks), kernel.dtype));
  result.approximation = tuned_tile;
  return result;
}

Decomposition decompose_block_attention(const SparseAttention& kernel, const GpuSpec& /*gpu*/) {
  TaskList tasks;
  const std::int64_t group = kernel.query_heads / std::max(kernel.kv_heads, 1);
  const auto rows = static_cast<double>(std::max(power_of_two_at_least(group), attended_rows));
  const double key_bytes = (kernel.key_dim + kernel.value_dim) * bytes_per_element(kernel.kv_dtype);
  const std::int64_t picked = kernel.selected / attended_block;
  for (const SliceRun& run : slice_runs(kernel.load, LoadPart::all)) {
    append_times(tasks, run.count * kernel.kv_heads, [&](TaskList& list) {
      for_equal_sights(run.slice, attended_block, [&](std::int64_t blocks, std::int64_t count) {
        const auto keys = static_cast<double>(std::min(blocks, picked) * attended_block);
        append_tasks(list,
                     {.tensor_ops = 2 * rows * keys * (kernel.key_dim + kernel.value_dim),
                      .fma_ops = rows * keys,
                      .xu_ops = rows * keys,
                      .bytes_loaded = keys * key_bytes},
                     count);
      });
    });
  }
  Decomposition result;
  result.launches.push_back(
      list_launch("block_attention", std::move(tasks), activation_dtype(kernel.dtype)));
  return result;
}

}  // namespace foretoken
