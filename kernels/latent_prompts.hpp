// What engines do with prompts under latent attention (DeepSeek). Keys and values of new tokens are
// made from their latents ("expanded"), in a product of their own, and attention is an ordinary one
// with 192-wide keys. Those of tokens that are in the cache already are expanded again in every
// step that reads them. SGLang does so from a number of cached tokens on; before fewer, the step's
// queries absorb the up-projections and attend to the latents, which takes 3.4 times the operations
// a pair (sgl-project/sglang, attention_backend_handler.py).
//
// Sparse attention works on latents. But under SGLang steps of prompts whose contexts all fit what
// an index chooses attend to every key instead, expanded with those of all cached tokens
// (SGLANG_DSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD, dsa_backend.py), and its workspace: no index
// scores keys then.
#pragma once

#include "kernels/attention_load.hpp"
#include "kernels/implementation.hpp"

namespace foretoken {

/// Cached tokens of all prompts of a step (SGLANG_CHUNKED_PREFIX_CACHE_THRESHOLD).
inline constexpr std::int64_t sglang_expands_from = 8192;

/// Tokens of all contexts whose keys and values its workspace holds at once.
inline constexpr std::int64_t sglang_workspace_tokens = 128 * 1024;

/// Of prompts in one step.
inline bool absorbs_cached_latents(const LoadSums& prompts, Framework framework) {
  const std::int64_t cached = prompts.context_tokens - prompts.query_tokens;
  return framework == Framework::sglang && cached > 0 && cached < sglang_expands_from;
}

/// Tokens of `prompts` whose keys and values are made in a step: the new ones, and the cached ones
/// unless queries absorb.
inline std::int64_t expanded_latents(const LoadSums& prompts, Framework framework) {
  return absorbs_cached_latents(prompts, framework) ? prompts.query_tokens : prompts.context_tokens;
}

}  // namespace foretoken
