// One engine step of one attention rank: who runs, how many tokens each, and the sums its kernels
// are priced from.
#pragma once

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
};

struct Batch {
  std::vector<BatchEntry> entries;
  BatchShape shape;
  Seconds scheduled_at;
  int attention_rank = 0;
  bool lists_sequences = false;  // exact attention: shape lists every sequence

  void clear() {
    entries.clear();
    shape.tokens = shape.logit_rows = 0;
    shape.attention.prefill = shape.attention.decode = {};
    shape.attention.sequences.clear();
  }
  [[nodiscard]] bool empty() const { return entries.empty(); }

  /// Adds `new_tokens` of `sequence` (which stays at its old `computed`).
  void add(Sequence& sequence, std::int64_t new_tokens) {
    const bool samples = new_tokens == sequence.missing_tokens();
    const SequenceSlice slice{new_tokens, sequence.computed + new_tokens};
    // One new token after the prompt is a decode; the last token of a prompt counts as one too,
    // since the attention kernel sees the same thing.
    LoadSums& sums = new_tokens == 1 ? shape.attention.decode : shape.attention.prefill;
    sums.add(slice);
    if (lists_sequences) shape.attention.sequences.push_back(slice);
    shape.tokens += new_tokens;
    shape.logit_rows += samples ? 1 : 0;
    if (sequence.record.scheduled < Seconds(0.0)) sequence.record.scheduled = scheduled_at;
    entries.push_back({&sequence, slice.query_tokens, slice.context_tokens, samples});
  }
};

}  // namespace foretoken
