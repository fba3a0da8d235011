// How a step that has prefill and decode sequences together is priced where no family covers both:
// as two launches, each by the family that knows its kind, less what they share. For predictors.
#pragma once

#include <optional>

#include "kernels/estimators/attention_model.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

/// Whether prompts and decodes of a step are one launch of the code: vLLM's FlashInfer and
/// TensorRT-LLM have a kernel for each.
bool runs_as_one_launch(const AttentionSetting& setting);

struct MixedAttention {
  Kernel prefill, decode;  // priced apart
  /// Fixed cost that both prices contain and one launch pays once.
  Seconds shared;
};

/// Splits an Attention or Mla with both kinds of sequences (checked). vLLM's FlashAttention-2 takes
/// a mixed step in one launch that neither packs query heads nor splits contexts, up to four times
/// slower for its decode sequences than a pure decode step (RTX 4090): there `decode` is a prefill
/// load of one query each, which the prefill family covers.
MixedAttention split_mixed_attention(const Kernel& kernel, const GpuSpec& gpu);

/// The launch with one query a sequence in place of those that verify drafts; nullopt where there
/// is none. It reads the same keys and values, so that it bounds the verification's time from
/// below: prefill families, which take it over on some GPUs, have not seen queries that few.
std::optional<Kernel> without_drafts(const Kernel& kernel);

/// Both parts as `predictor` prices them, one launch after the other: for baselines, which know
/// nothing of what the two would share. What the longer one is bound by bounds both.
Prediction price_apart(const Predictor& predictor, const Kernel& kernel, const GpuSpec& gpu);

}  // namespace foretoken
