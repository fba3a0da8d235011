// Which kernels attend to blocks of keys (MiniMax-M3): the decomposers and the first-order times
// that go by their tasks ask the same.
#pragma once

#include "hardware/compute_capability.hpp"
#include "kernels/hybrid_kernels.hpp"

namespace foretoken {

/// MiniMax-M3's tiles in Triton, by which launches are cut and times told: keys of a block, queries
/// of an index's CTA (64 or 128, tuned on the GPU), rows that a KV head's query heads fill up to.
inline constexpr std::int64_t attended_block = 128, index_queries = 64, attended_rows = 16;

/// Latents and DeepSeek-V4's compressed keys are their own values; keys of blocks are not.
inline bool attends_to_blocks(const SparseAttention& kernel) { return !kernel.values_are_keys; }

/// vLLM's prompts on data-centre Blackwell: MiniMax's fmha_sm100 (vllm-project/MSA), which gathers
/// for each block the queries that picked it. All others walk for each query what it picked.
inline bool gathers_queries(const SparseAttention& kernel, const GpuSpec& gpu) {
  return kernel.implementation.framework == Framework::vllm && is_datacentre_blackwell(gpu);
}

}  // namespace foretoken
