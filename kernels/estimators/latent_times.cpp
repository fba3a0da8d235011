// Attention to the latents that an index picked (DeepSeek-V3.2, GLM-5), by the kernel that reads
// them. Of prompts, SGLang's 64 heads in 16 bits (flash_mla_sparse_fwd) are in AIConfigurator's
// table of kernels (095f58a5), whose network corrects all prompts; the other kernels and decodes
// were timed in whole blocks alone. Constants were chosen on those of an H100 and a B200, without
// index where SGLang's rows lack one; `foretoken-calibrate evaluate --modules` prints what is left.
#include <algorithm>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/hybrid_parts.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {

bool picks_latents(const SparseAttention& sparse) {
  return sparse.values_are_keys && sparse.window == 0 && sparse.selected > 0;
}

namespace {

bool holds_8bit(const SparseAttention& sparse) { return bytes_per_element(sparse.kv_dtype) < 2; }

bool runs_vllm(const SparseAttention& sparse) {
  return sparse.implementation.framework == Framework::vllm;
}

bool runs_trtllm(const SparseAttention& sparse) {
  return sparse.implementation.framework == Framework::trtllm;
}

/// Which kernel reads them. sparse_prompt: flash_mla_sparse_fwd. paged: flash_mla_with_kvcache.
/// trtllm: trtllm-gen, from FlashInfer or TensorRT-LLM. fa3: FlashAttention-3 over pages of one
/// token. trtllm_hopper: TensorRT-LLM's on Hopper, which gives any query one SM.
enum class LatentKernel { sparse_prompt, paged, trtllm, fa3, trtllm_hopper };

/// vLLM, v1/attention/backends/mla/flashmla_sparse.py: 8-bit latents go through the paged kernel
/// where they decode and where a rank has fewer than 32 heads; on Blackwell these, and all in 8
/// bit, through FlashInfer. SGLang, layers/attention/nsa_backend.py, names the kernel in its rows.
LatentKernel latent_kernel(const SparseAttention& sparse, const GpuSpec& gpu) {
  constexpr int few_heads = 32;
  const bool is_8bit = holds_8bit(sparse);
  const bool is_few = runs_vllm(sparse) && sparse.query_heads < few_heads;
  const bool is_decode = sparse.load.prefill.sequences == 0;
  if (is_datacentre_blackwell(gpu)) {
    const bool is_trtllm =
        is_8bit || is_few || runs_trtllm(sparse) || (is_decode && !runs_vllm(sparse));
    return is_trtllm ? LatentKernel::trtllm : LatentKernel::sparse_prompt;
  }
  if (runs_trtllm(sparse)) return LatentKernel::trtllm_hopper;
  if (is_8bit && (is_decode || is_few || !runs_vllm(sparse))) return LatentKernel::paged;
  return is_decode && !runs_vllm(sparse) ? LatentKernel::fa3 : LatentKernel::sparse_prompt;
}

/// A prompt's query is walked by one SM.
struct LatentWalk {
  int heads = 64;         // of a group, filled up
  double query = 12;      // us of a query beside its keys, at the clock of an H100
  double head = 0;        // and of each of its heads
  double share = 0.73;    // of the tensor peak while it walks
  double further = 1;     // what another group takes of the first
  bool walks_all = true;  // all slots, filled or not
  DType dtype = DType::bf16;
};

LatentWalk walk_of(const SparseAttention& sparse, const GpuSpec& gpu) {
  const bool is_vllm = runs_vllm(sparse);
  switch (latent_kernel(sparse, gpu)) {
    case LatentKernel::paged:
      return {.share = is_vllm ? 0.36 : 0.43, .further = 0.75};
    case LatentKernel::trtllm_hopper:
      return {.query = 150, .share = 1, .walks_all = false};
    case LatentKernel::trtllm:
      if (runs_trtllm(sparse)) {  // chosen on whole blocks of a B200 (`evaluate --modules`)
        return holds_8bit(sparse) ? LatentWalk{.query = 2.7,
                                               .head = 0.1,
                                               .share = 0.31,
                                               .further = 0.2,
                                               .walks_all = false,
                                               .dtype = DType::fp8}
                                  : LatentWalk{.query = 4.3,
                                               .head = 0.065,
                                               .share = 0.29,
                                               .further = 0.1,
                                               .walks_all = false};
      }
      if (!holds_8bit(sparse)) {
        return {.query = 6, .share = 0.33, .further = 0.45, .walks_all = false};
      }
      return {.query = is_vllm ? 8.0 : 2.0,
              .share = is_vllm ? 0.225 : 0.31,
              .further = 0.5,
              .walks_all = false,
              .dtype = DType::fp8};
    default:
      if (is_datacentre_blackwell(gpu)) {
        return {.heads = 128, .query = 34, .share = 0.94, .walks_all = !is_vllm};
      }
      return {.walks_all = !is_vllm};
  }
}

/// Decodes are split over all SMs.
struct LatentDecode {
  double fixed, query;      // us: of a launch, and of an SM for a query and 64 heads
  double further = 0.6;     // what another 64 take of the first
  double dram_share = 0.6;  // pages of one token each
};
LatentDecode decode_of(const SparseAttention& sparse, const GpuSpec& gpu) {
  const bool is_vllm = runs_vllm(sparse);
  switch (latent_kernel(sparse, gpu)) {
    case LatentKernel::paged:
      return {.fixed = 22, .query = 142};
    case LatentKernel::fa3:
      return {.fixed = 17, .query = 30, .dram_share = 0.74};
    case LatentKernel::trtllm:
      if (holds_8bit(sparse)) return {.fixed = 11, .query = is_vllm ? 85.0 : 52.0};
      return {.fixed = 15,
              .query = is_vllm ? 120.0 : 107.0,
              .further = runs_trtllm(sparse) ? 0.2 : 0.6};
    default:  // walked as a prompt's
      return {.fixed = 8.6, .query = 0};
  }
}

/// Each sequence with at most `most` tokens of context, or `before` of them ahead of its own.
AttentionLoad with_contexts_to(const AttentionLoad& whole, std::int64_t most, std::int64_t before) {
  AttentionLoad load;
  for (SequenceSlice slice : whole.sequences) {
    slice.context_tokens =
        std::min(slice.context_tokens, std::max(slice.query_tokens + before, most));
    (whole.is_decode(slice) ? load.decode : load.prefill).add(slice);
    load.sequences.push_back(slice);
  }
  if (!load.sequences.empty()) return load;
  const auto shorten = [&](LoadSums sums) {
    const std::int64_t held =
        std::max(sums.query_tokens + sums.sequences * before, sums.sequences * most);
    if (sums.context_tokens <= held) return sums;
    sums.causal_pairs -=
        rows_of(sums.query_tokens) * rows_of(sums.context_tokens - held) / rows_of(sums.sequences);
    sums.context_tokens = held;
    sums.context_tokens_max = std::max(sums.query_tokens_max + before, most);
    return sums;
  };
  load.prefill = shorten(whole.prefill);
  load.decode = shorten(whole.decode);
  return load;
}

double groups_of(const SparseAttention& sparse, int heads) {
  return std::ceil(static_cast<double>(sparse.query_heads) / heads);
}

}  // namespace

double latent_prompt_us(const SparseAttention& sparse, const GpuSpec& gpu) {
  constexpr double tile_keys = 64;
  const LatentWalk walk = walk_of(sparse, gpu);
  const double queries = rows_of(sparse.load.query_tokens());
  const double slots = rows_of(sparse.selected) / tile_keys;
  const double picked = selected_pairs(sparse.load, sparse.selected, 1) / queries / tile_keys;
  const double tiles = walk.walks_all ? slots : std::min(picked + 0.5, slots);
  const double flops = 2 * tile_keys * walk.heads * (sparse.key_dim + sparse.value_dim);
  const double tile = tensor_us(flops, walk.dtype, gpu, walk.share) * gpu.sm_count;
  const double groups = groups_of(sparse, walk.heads);
  const double query = walk.query * clock_stretch(gpu) + tiles * tile;
  const double mean_group = (1 + walk.further * (groups - 1)) / groups;
  const double heads = walk.head * sparse.query_heads * clock_stretch(gpu);
  return std::ceil(queries * groups / gpu.sm_count) * (query * mean_group + heads / groups);
}

/// Sequences share no latents, so that all are read from DRAM. The kernel for prompts gives a query
/// one SM here as well.
HybridTime latent_decode_time(const Kernel& kernel, const GpuSpec& gpu, bool /*is_cold*/) {
  const auto& sparse = std::get<SparseAttention>(kernel);
  const LatentDecode c = decode_of(sparse, gpu);
  const double queries = rows_of(sparse.load.query_tokens());
  HybridTime out;
  out.fixed = c.fixed;
  if (queries == 0) return out;
  out.memory =
      memory_us(out, sparse_attention_work(sparse).dram_bytes.value(), gpu, c.dram_share, true);
  const double groups = 1 + c.further * (groups_of(sparse, 64) - 1);
  const double picked = selected_pairs(sparse.load, sparse.selected, 1) / rows_of(sparse.selected);
  switch (latent_kernel(sparse, gpu)) {
    case LatentKernel::sparse_prompt:
    case LatentKernel::trtllm_hopper:
      out.math = latent_prompt_us(sparse, gpu);
      break;
    case LatentKernel::paged:
      out.math = queries / gpu.sm_count * c.query * groups * clock_stretch(gpu);
      break;
    default:
      out.math = picked / gpu.sm_count * c.query * groups * clock_stretch(gpu);
      break;
  }
  return out;
}

/// Tables call all latents fp8, and flash_mla_sparse_fwd, which one of them is of, reads 16 bit.
/// Prompts take as long before any context longer than what is picked; the table has few with many
/// sequences and long contexts.
SparseAttention attention_as_timed(SparseAttention sparse) {
  constexpr int timed_heads = 64;
  if (!sparse.values_are_keys) return sparse;
  if (picks_latents(sparse)) {
    sparse.query_heads = timed_heads;
    sparse.implementation.framework = Framework::sglang;
    if (sparse.load.prefill.sequences > 0) {
      sparse.load =
          with_contexts_to(sparse.load, keys_picked_together * sparse.selected, sparse.selected);
    }
  } else if (sparse.load.prefill.sequences > 0) {
    sparse.query_heads = (sparse.query_heads + timed_heads - 1) / timed_heads * timed_heads;
  }
  sparse.kv_dtype = DType::fp8;
  return sparse;
}

Kernel as_priced(const Kernel& kernel, const GpuSpec& gpu) {
  if (const auto* index = std::get_if<KeyIndexer>(&kernel)) {
    KeyIndexer own = index_as_timed(*index);
    own.implementation = index->implementation;
    return own;
  }
  const auto* sparse = std::get_if<SparseAttention>(&kernel);
  return sparse != nullptr && picks_latents(*sparse) ? kernel : as_timed(kernel, gpu);
}

}  // namespace foretoken
