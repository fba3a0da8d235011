// Sums over the sequences of an attention launch, and how many query-key pairs a causal mask (with
// or without a sliding window) leaves. Closed forms: a step of thousands of sequences is summed
// once, and a context of a million tokens costs what one of ten does.
#include "kernels/attention_load.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {

void LoadSums::add(const SequenceSlice& slice) {
  sequences += 1;
  query_tokens += slice.query_tokens;
  context_tokens += slice.context_tokens;
  context_tokens_max = std::max(context_tokens_max, slice.context_tokens);
  query_tokens_max = std::max(query_tokens_max, slice.query_tokens);
  causal_pairs += foretoken::causal_pairs(slice);
}

AttentionLoad AttentionLoad::exact(std::vector<SequenceSlice> slices,
                                   std::int64_t decode_queries_max) {
  AttentionLoad load;
  for (const SequenceSlice& slice : slices) {
    (slice.query_tokens <= decode_queries_max ? load.decode : load.prefill).add(slice);
  }
  load.sequences = std::move(slices);
  return load;
}

double causal_pairs(const SequenceSlice& slice, std::int64_t window) {
  const std::int64_t queries = slice.query_tokens;
  const std::int64_t before = slice.context_tokens - queries;  // keys older than every query
  FORETOKEN_CHECK(queries >= 0 && before >= 0, "{} queries in a context of {}", queries,
                  slice.context_tokens);
  // Query i of q sees before + 1 + i keys. The first `growing` queries see fewer than the window
  // holds; the others see exactly `window`.
  const std::int64_t growing =
      window > 0 ? std::clamp<std::int64_t>(window - 1 - before, 0, queries) : queries;
  const auto grown = static_cast<double>(growing);
  return grown * static_cast<double>(before) + grown * (grown + 1) / 2 +
         static_cast<double>(queries - growing) * static_cast<double>(window);
}

}  // namespace foretoken
