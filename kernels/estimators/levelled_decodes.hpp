// Decodes of unequal sequences by TensorRT-LLM's kernels for data-centre Blackwell (trtllm-gen,
// which vLLM and SGLang launch through FlashInfer): the SM with the longest of them works while
// others have done. Tables have equal sequences alone, in which DRAM hides what one SM loads, so
// that nothing fitted to them can tell. Internal to the attention and mla families.
#pragma once

#include <optional>

#include "kernels/estimators/attention_model.hpp"

namespace foretoken {

/// ns beside what a launch costs whatever it does: what all SMs load comes from DRAM while the
/// busiest one walks its keys. Unequal sequences are compared with equal ones by it, with a B200's
/// rates on any part: rates that moved the comparison would make a better part dearer.
double blackwell_decode_ns(double memory_ns, double busiest_ns);

/// The equal sequences of a launch that takes `ratio` times as long as `sums`' mean ones: at least
/// their mean, at most the longest.
LoadSums levelled_sums(const LoadSums& sums, double ratio);

/// Of pricing `own` as `equal`, relative: what is beyond the mean sequences' time is a quarter
/// uncertain, as far as rates of equal tables can be off one SM's (assumed).
double levelling_error(const LoadSums& own, const LoadSums& equal);

/// As many sequences of the mean; nullopt: sums, prompts, or equal ones.
std::optional<LoadSums> mean_decodes(const AttentionLoad& load);

/// The equal decodes that take as long by the plan of the launch. nullopt: equal already, or
/// kernels whose plans level sequences, and those whose plan T knows.
std::optional<Attention> levelled(const Attention& kernel, const GpuSpec& gpu);

}  // namespace foretoken
