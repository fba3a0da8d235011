// One engine step of one attention rank: who runs, how many tokens each, and the sums its kernels
// are priced from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/serving/sequence.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

struct BatchEntry {
  Sequence* sequence = nullptr;
  std::int64_t new_tokens = 0;
  std::int64_t context_tokens = 0;  // after the step, new tokens included
  bool samples = false;             // the step completes what is known: it draws the next token
  std::int64_t drafts = 0;          // drafted tokens that the step verifies
};

struct Batch {
  std::vector<BatchEntry> entries;
  std::vector<std::uint32_t> adapters;  // of its sequences, each once, in order of first use
  std::vector<MediaPatches> media;      // to be encoded before the step
  BatchShape shape;
  Seconds scheduled_at;
  Seconds host_delay;           // by how much the CPU makes the step longer
  std::int64_t admissions = 0;  // sequences that run for the first time
  int attention_rank = 0;
  bool lists_sequences = false;  // attention by its plan: shape lists every sequence
  bool knows_adapters = true;    // false: no request has one, so none is looked for
  int drafts_max = 0;            // drafted tokens a sequence and step; 0 = no speculation
  /// One token of each sequence that samples: what a pass of the draft runs on.
  BatchShape drafting;
  Seconds draft_time;  // of all its passes, once they are priced

  void clear() {
    entries.clear();
    adapters.clear();
    media.clear();
    admissions = 0;
    shape.tokens = shape.logit_rows = shape.draft_rows = shape.verifying = 0;
    shape.adapters = shape.adapted_tokens = 0;
    shape.attention.prefill = shape.attention.decode = {};
    shape.attention.sequences.clear();
    drafting = {};
    draft_time = Seconds(0.0);
  }
  [[nodiscard]] bool empty() const { return entries.empty(); }

  /// Adds `new_tokens` of `sequence` (which stays at its old `computed`).
  void add(Sequence& sequence, std::int64_t new_tokens) {
    const std::int64_t missing = sequence.known_tokens() - sequence.computed;
    const bool samples = new_tokens >= missing;
    const std::int64_t verified = samples ? new_tokens - missing : 0;
    const SequenceSlice slice{new_tokens, sequence.computed + new_tokens};
    // One new token after the prompt, with its drafts, is a decode; the last tokens of a prompt
    // count as one too, since the attention kernel sees the same thing.
    LoadSums& sums =
        new_tokens <= 1 + drafts_max ? shape.attention.decode : shape.attention.prefill;
    sums.add(slice);
    if (lists_sequences) shape.attention.sequences.push_back(slice);
    shape.tokens += new_tokens;
    if (knows_adapters && sequence.adapter) use_adapter(*sequence.adapter, new_tokens);
    shape.logit_rows += samples ? 1 + verified : 0;
    shape.draft_rows += verified;
    shape.verifying += verified > 0 ? 1 : 0;
    if (samples && drafts_max > 0) add_drafting(slice.context_tokens);
    note_start(sequence);
    entries.push_back({&sequence, slice.query_tokens, slice.context_tokens, samples, verified});
  }

  /// Whether all its sequences decode one token, and nothing goes along with that.
  [[nodiscard]] bool decodes_only() const {
    return drafts_max == 0 && media.empty() && shape.attention.prefill.sequences == 0 &&
           shape.logit_rows == std::ssize(entries) && shape.tokens == std::ssize(entries);
  }

  /// Where it decodes only: the step after it, in which every sequence decodes its next token.
  void go_on(Seconds now) {
    scheduled_at = now;
    admissions = 0;
    for (BatchEntry& entry : entries) ++entry.context_tokens;
    for (SequenceSlice& slice : shape.attention.sequences) ++slice.context_tokens;
    LoadSums& sums = shape.attention.decode;
    sums.context_tokens += sums.sequences;
    ++sums.context_tokens_max;
    sums.causal_pairs += static_cast<double>(sums.sequences);
  }

  /// The step works on `sequence`, for the first time or not.
  void note_start(Sequence& sequence) {
    if (sequence.has_begun) return;
    sequence.has_begun = true;
    if (sequence.record.scheduled >= Seconds(0.0)) return;
    sequence.record.scheduled = scheduled_at;
    ++admissions;
  }

 private:
  void use_adapter(std::uint32_t adapter, std::int64_t new_tokens) {
    shape.adapted_tokens += new_tokens;
    if (std::ranges::find(adapters, adapter) != adapters.end()) return;
    adapters.push_back(adapter);
    ++shape.adapters;
  }

  void add_drafting(std::int64_t context_tokens) {
    const SequenceSlice slice{1, context_tokens};
    drafting.attention.decode.add(slice);
    if (lists_sequences) drafting.attention.sequences.push_back(slice);
    ++drafting.tokens;
    ++drafting.logit_rows;
  }
};

}  // namespace foretoken
