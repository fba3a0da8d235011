// Recurrences, sparse attention and its index (but for prompts of blocks: block_sparse.cpp),
// hyper-connections: nobody recorded their launches, so that their work is cut into equal tasks, a
// CTA for what they are known to run apart (a head of a sequence, a query, a token).
#include <algorithm>

#include "kernels/kernel_work.hpp"
#include "kernels/tasks/block_sparse.hpp"
#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr int hybrid_threads = 128, hybrid_registers = 128;

Decomposition equal_tasks(std::string_view name, const KernelWork& work, std::int64_t count) {
  count = std::max<std::int64_t>(count, 1);
  const auto share = 1.0 / static_cast<double>(count);
  const Task task = {.tensor_ops = work.tensor_flops * share,
                     .fma_ops = work.fma_ops * share,
                     .xu_ops = work.xu_ops * share,
                     .bytes_loaded = work.dram_bytes.value() * share};
  Decomposition result;
  Launch launch = uniform_launch(name, task, count, hybrid_threads, hybrid_registers);
  launch.tensor_dtype = work.tensor_dtype;
  result.launches.push_back(std::move(launch));
  result.approximation = "launches of this kernel were not recorded: equal tasks stand in";
  return result;
}

}  // namespace

Decomposition decompose_state_scan(const StateScan& kernel, const GpuSpec&) {
  const auto heads_of = [&](const StateLoad& load) {
    StateScan part = kernel;
    part.load = load;
    return equal_tasks("state_scan", state_scan_work(part), load.sequences() * kernel.value_heads);
  };
  StateLoad rest = kernel.load;
  if (rest.prefill_longest == 0) return heads_of(rest);
  // The longest prompt's heads are tasks of their own: whoever has one works on it to its end.
  Decomposition result = heads_of({1, rest.prefill_longest, 0, 0});
  rest.prefill_sequences -= 1;
  rest.prefill_tokens -= rest.prefill_longest;
  rest.prefill_longest = 0;
  const Launch others = std::move(heads_of(rest).launches.front());
  Launch& launch = result.launches.front();
  launch.shape.grid_x += others.shape.grid_x;
  launch.tasks.insert(launch.tasks.end(), others.tasks.begin(), others.tasks.end());
  return result;
}

Decomposition decompose_state_convolution(const StateConvolution& kernel, const GpuSpec&) {
  return equal_tasks("state_convolution", state_convolution_work(kernel), kernel.load.tokens());
}

Decomposition decompose_key_indexer(const KeyIndexer& kernel, const GpuSpec& gpu) {
  const bool is_decode = kernel.load.prefill.sequences == 0;
  if (kernel.block > 1 && !is_decode) return decompose_block_index(kernel, gpu);
  return equal_tasks("key_indexer", key_indexer_work(kernel), kernel.load.query_tokens());
}

Decomposition decompose_sparse_attention(const SparseAttention& kernel, const GpuSpec& gpu) {
  const bool is_decode = kernel.load.prefill.sequences == 0;
  if (attends_to_blocks(kernel) && !is_decode && !gathers_queries(kernel, gpu)) {
    return decompose_block_attention(kernel, gpu);
  }
  return equal_tasks("sparse_attention", sparse_attention_work(kernel),
                     kernel.load.query_tokens() * kernel.kv_heads);
}

Decomposition decompose_hyper_connection(const HyperConnection& kernel, const GpuSpec&) {
  return equal_tasks("hyper_connection", hyper_connection_work(kernel), kernel.tokens);
}

}  // namespace foretoken
