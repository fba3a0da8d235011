// An index over single keys and the attention behind it (latents: latent_times.cpp). Constants were
// chosen on AIConfigurator's tables (095f58a5) of vLLM 0.24 and SGLang 0.5.14 on H100, H200 and
// B200.
#include <algorithm>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/hybrid_parts.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {

/// Decodes are scored by DeepGEMM's fp8_paged_mqa_logits, which was timed with DeepSeek-V4's 64
/// heads alone. GLM-5's table (32 heads) is of the kernel for prompts, fp8_mqa_logits, which walks
/// the keys of one sequence on one SM: 259 us for 65,536 of them where the paged one takes 4.
KeyIndexer index_as_timed(KeyIndexer index) {
  constexpr int timed_heads = 64;
  if (index.load.prefill.sequences == 0 && index.block == 1) index.heads = timed_heads;
  if (index.implementation.framework == Framework::trtllm) {  // not in a table alone
    index.implementation.framework = Framework::vllm;
  }
  return index;
}

/// DeepGEMM's fp8 logits, of which about half of what the mask hides is computed, and SGLang's
/// top-k, a CTA a query.
HybridTime key_indexer_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& index = std::get<KeyIndexer>(kernel);
  constexpr double logits_fixed = 4.3, tensor_share = 0.45, dram_share = 0.8, hidden_share = 0.5;
  const bool is_trtllm_decode = index.implementation.framework == Framework::trtllm &&
                                index.load.prefill.sequences == 0 && index.ratio == 1;
  const double topk_fixed = is_trtllm_decode ? 22 : 1.9, topk_query = is_trtllm_decode ? 15 : 1.46;
  constexpr double topk_thousand_keys = 0.241;
  // TensorRT-LLM's quantisation, scattering and conversion of positions, launches of their own;
  // these and its top-k were chosen on whole blocks of an H100 and a B200 (`evaluate --modules`).
  constexpr double trtllm_fixed = 15, trtllm_query = 0.04;
  const double queries = rows_of(index.load.query_tokens());
  HybridTime out;
  out.fixed = queries == 0 ? topk_fixed : logits_fixed;
  if (is_trtllm_decode) out.fixed += trtllm_fixed + trtllm_query * queries;
  if (queries == 0) return out;
  const double pairs = attention_pairs(index.load, true, 0) / index.ratio;
  out.sequences = rows_of(index.load.prefill.sequences + index.load.decode.sequences);
  out.queries = queries / out.sequences;
  out.context = kv_tokens_read(index.load, 0) / out.sequences / index.ratio;
  out.width = index.heads;
  out.tasks = queries;
  out.is_prompt = index.load.prefill.sequences > 0;
  out.is_other_kind = index.ratio > 1;
  const double computed = pairs + hidden_share * std::max(queries * out.context - pairs, 0.0);
  out.memory = memory_us(out, key_indexer_work(index).dram_bytes.value(), gpu, dram_share, is_cold);
  out.math = tensor_us(2 * computed * index.heads * index.head_dim, index.dtype, gpu, tensor_share);
  if (out.context * index.ratio > rows_of(index.selected)) {
    const double mean_keys = pairs / queries;
    out.walk = topk_fixed + std::ceil(queries / gpu.sm_count) *
                                (topk_query + topk_thousand_keys * mean_keys / 1000) *
                                clock_stretch(gpu);
  }
  return out;
}

/// DeepSeek-V4's prompts have a CTA for each query and 64 heads, which walks the slots that its
/// context fills; decodes are split over the SMs.
HybridTime sparse_attention_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& sparse = std::get<SparseAttention>(kernel);
  constexpr double tile_keys = 64, tile_heads = 64;
  constexpr double prompt_fixed = 8.6, prompt_share = 0.59, prompt_share_b200 = 0.29;
  constexpr double decode_fixed = 15.7, decode_share = 0.73, decode_query = 8.2;
  const AttentionLoad& load = sparse.load;
  const double queries = rows_of(load.query_tokens());
  HybridTime out;
  out.is_prompt = load.prefill.sequences > 0;
  out.fixed = out.is_prompt ? prompt_fixed : decode_fixed;
  if (queries == 0) return out;
  const bool has_more = sparse.window == 0 || sparse.selected > 0 || sparse.ratio > 1;
  double keys = 0;
  if (has_more) keys = selected_pairs(load, sparse.selected, sparse.ratio) / queries;
  if (sparse.window > 0) keys += attention_pairs(load, true, sparse.window) / queries;
  keys = std::ceil(keys / tile_keys) * tile_keys;
  const double heads = static_cast<double>(sparse.query_heads) / sparse.kv_heads;
  // vLLM takes four prompts a launch, which its table of kernels shows, TensorRT-LLM all at once.
  const bool is_one_launch = out.is_prompt && sparse.implementation.framework == Framework::trtllm;
  const double sequences = rows_of(load.prefill.sequences + load.decode.sequences);
  out.sequences = is_one_launch ? 1 : sequences;
  out.queries = queries / out.sequences;
  out.context = kv_tokens_read(load, 0) / sequences;
  out.width = sparse.query_heads;
  out.tasks = queries * sparse.kv_heads * std::ceil(heads / tile_heads);
  out.is_other_kind = sparse.window > 0;
  const double flops = 2 * tile_heads * keys * (sparse.key_dim + sparse.value_dim);
  const bool is_b200 = gpu.compute_capability >= blackwell;
  const double share = !out.is_prompt ? decode_share : is_b200 ? prompt_share_b200 : prompt_share;
  const double tile_us =
      tensor_us(flops, activation_dtype(sparse.dtype), gpu, share) * gpu.sm_count;
  out.memory = memory_us(out, sparse_attention_work(sparse).dram_bytes.value(), gpu, 0.8, is_cold);
  if (!out.is_prompt) {
    out.math = out.tasks / gpu.sm_count * (tile_us + decode_query);
  } else if (picks_latents(sparse)) {
    out.math = latent_prompt_us(sparse, gpu);
  } else {
    out.math = std::ceil(out.tasks / gpu.sm_count) * tile_us;
  }
  return out;
}

}  // namespace foretoken
