// First-order time of DeepSeek's latent attention, by whose kernel runs. Decodes and prompts on the
// compressed cache (queries absorb the up-projections) pay for bytes of the cache, for products of
// whole row tiles, and for their queries and results, which kernels read in another order; Triton's
// walk a fixed number of splits. Prompts with expanded keys and values pay for products and for
// what is moved around them. Internal to the MLA families.
#pragma once

#include <optional>

#include "kernels/estimators/attention_model.hpp"

namespace foretoken {

struct MlaEstimate {
  // us
  double fixed = 0, memory = 0, math = 0;
  double walk = 0;        // keys that one CTA takes one after the other, or the longest tile
  double rows = 0;        // queries and results around the kernel
  double conversion = 0;  // of an fp8 cache that the kernel cannot read
  double ctas = 0;        // that follow each other on an SM, and joining splits
  double total = 0;
  bool is_triton = false, has_small_cache = false, is_absorbed = true;
  double sequences = 0, queries = 0, context = 0, keys = 0;
  Bound bound = Bound::launch;
};

/// Whether drafted tokens are verified by the decode kernel, as rows beside a sequence's heads;
/// Triton's has one query a sequence and leaves them to the prefill path.
bool mla_runs_as_decode(const Mla& mla, const GpuSpec& gpu);

/// Whether the tables time a launch of that framework with the host's part.
bool mla_is_timed_with_host(const Mla& mla);

/// Prompts that no table has as they are served. That of SGLang on Hopper has them absorbed, as the
/// collector called the kernel; served ones (cold) are expanded, but before few cached tokens
/// (kernels/latent_prompts.hpp). And those that expand every cached token.
bool mla_expands_where_table_absorbs(const Mla& mla, const GpuSpec& gpu);

/// Decodes of unequal sequences as the equal ones that take as long by the plan of the launch
/// (kernels/tasks/latent_generation.hpp): the SM with the longest of them works while others have
/// done. nullopt: sums, or kernels whose plans level sequences.
std::optional<Mla> levelled(const Mla& mla, const GpuSpec& gpu);

/// `is_cold`: as in serving, inside a graph.
MlaEstimate estimate_mla(const Mla& mla, const GpuSpec& gpu, bool is_cold);

}  // namespace foretoken
