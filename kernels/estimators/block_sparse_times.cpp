// Constants were chosen on whole blocks of MiniMax-M3 as AIConfigurator timed them (095f58a5; vLLM
// 0.24, SGLang 0.5.16) on an H100, those of vLLM's prompts on data-centre Blackwell on a B200;
// `foretoken-calibrate evaluate --modules` prints what is left on all GPUs.
#include <algorithm>

#include "kernels/estimators/hybrid_parts.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/tasks/block_sparse.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken {
namespace {

constexpr double told_hz = 1.83e9;  // an H100's

/// us. A tile is 128 keys before the 64 queries (index) or the 16 rows (attention) of a CTA.
struct IndexConstants {
  double prompt_fixed, decode_fixed;
  double tile_alone, tile_busy;  // one CTA on an SM; on each SM as many as find room
  double pick, pick_block;       // a query's and head's selection, and each block of it
  double decode_pick;            // of a query and head
};
constexpr IndexConstants vllm_index{2.0, 1.9, 0.7, 0.36, 0.6, 0.0, 1.8};
constexpr IndexConstants sglang_index{10.0, 8.4, 2.7, 1.5, 0.33, 0.0039, 0.0};

struct AttentionConstants {
  double prompt_fixed, decode_fixed;
  double prompt_tile, prompt_tile_8bit, decode_tile, decode_tile_8bit;
};
constexpr AttentionConstants vllm_attention{2.0, 1.9, 1.0, 1.76, 2.6, 2.6};
constexpr AttentionConstants sglang_attention{20.0, 8.4, 1.48, 3.9, 2.45, 4.0};
// fmha_sm100's planning, and what it takes for a query of a head and for each block of it.
constexpr double gather_fixed = 43, gather_query = 0.15, gather_block = 0.005;

bool runs_sglang(const Implementation& implementation) {
  return implementation.framework == Framework::sglang;
}

template <class Kind>
HybridTime shape_of(const Kind& kernel) {
  const AttentionLoad& load = kernel.load;
  HybridTime out;
  out.is_prompt = load.prefill.sequences > 0;
  out.sequences = static_cast<double>(load.prefill.sequences + load.decode.sequences);
  out.queries = static_cast<double>(load.query_tokens()) / std::max(out.sequences, 1.0);
  out.context = kv_tokens_read(load, 0) / std::max(out.sequences, 1.0);
  return out;
}

/// us at the roofs, and what the walk takes longer than they do.
void set_parts(HybridTime& out, const KernelWork& work, const GpuSpec& gpu, double walk) {
  constexpr double dram_share = 0.86;
  out.memory = memory_us(out, work.dram_bytes.value(), gpu, dram_share, true);
  out.math = tensor_us(work.tensor_flops, work.tensor_dtype, gpu, 1);
  out.walk = std::max(walk * clock_stretch(gpu, told_hz) - std::max(out.memory, out.math), 0.0);
}

/// Sums of a launch's walks, in units of `tile` operations.
struct Walks {
  double longest = 0, total = 0, tasks = 0;
};
Walks walks_of(const Launch& launch, double tile, double Task::*operations) {
  Walks walks;
  for (const TaskGroup& group : launch.tasks) {
    const double tiles = group.task.*operations / tile;
    const auto count = static_cast<double>(group.count * launch.repeats);
    walks.longest = std::max(walks.longest, tiles);
    walks.total += tiles * count;
    walks.tasks += count;
  }
  return walks;
}

}  // namespace

/// An index's prompt waits for the CTA with most keys, however few queries there are: nothing is
/// split along them.
HybridTime block_index_time(const Kernel& kernel, const GpuSpec& gpu, bool /*is_cold*/) {
  const auto& index = std::get<KeyIndexer>(kernel);
  const IndexConstants& c = runs_sglang(index.implementation) ? sglang_index : vllm_index;
  HybridTime out = shape_of(index);
  out.width = index.heads;
  out.fixed = out.is_prompt ? c.prompt_fixed : c.decode_fixed;
  const double sms = gpu.sm_count;
  const double picks = static_cast<double>(index.load.query_tokens()) * index.heads;
  double walk = c.decode_pick * picks / sms;
  out.tasks = picks;
  if (out.is_prompt) {
    const Decomposition cut = decompose(kernel, gpu);
    const double tile = 2.0 * attended_block * index_queries * index.head_dim;
    const Walks scores = walks_of(cut.launches.front(), tile, &Task::tensor_ops);
    const Walks blocks = walks_of(cut.launches.back(), 1, &Task::fma_ops);
    out.tasks = scores.tasks;
    walk = std::max(scores.longest * c.tile_alone, scores.total * c.tile_busy / sms) +
           (c.pick * blocks.tasks + c.pick_block * blocks.total) / sms;
  }
  set_parts(out, key_indexer_work(index), gpu, walk);
  return out;
}

/// One KV head's query heads fill a tile of 16 rows or more, however few they are.
HybridTime block_attention_time(const Kernel& kernel, const GpuSpec& gpu, bool /*is_cold*/) {
  const auto& sparse = std::get<SparseAttention>(kernel);
  const AttentionConstants& c =
      runs_sglang(sparse.implementation) ? sglang_attention : vllm_attention;
  const bool is_8bit = bytes_per_element(sparse.kv_dtype) < 2;
  HybridTime out = shape_of(sparse);
  out.width = sparse.query_heads;
  out.fixed = out.is_prompt ? c.prompt_fixed : c.decode_fixed;
  const auto queries = static_cast<double>(sparse.load.query_tokens());
  out.tasks = queries * sparse.kv_heads;
  const double blocks = selected_pairs(sparse.load, sparse.selected, 1) / attended_block;
  double walk = 0;
  if (!out.is_prompt) {
    walk = blocks * sparse.kv_heads * (is_8bit ? c.decode_tile_8bit : c.decode_tile);
  } else if (gathers_queries(sparse, gpu)) {
    out.fixed = gather_fixed;
    walk = sparse.query_heads * (queries * gather_query + blocks * gather_block);
  } else {
    const double tile = 2.0 * attended_rows * attended_block * (sparse.key_dim + sparse.value_dim);
    const Walks walks = walks_of(decompose(kernel, gpu).launches.front(), tile, &Task::tensor_ops);
    walk = walks.total * (is_8bit ? c.prompt_tile_8bit : c.prompt_tile);
  }
  set_parts(out, sparse_attention_work(sparse), gpu, walk / gpu.sm_count);
  return out;
}

}  // namespace foretoken
