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

namespace {

std::int64_t share_of(std::int64_t count, int parts) { return (count + parts - 1) / parts; }

}  // namespace

LoadSums LoadSums::part_of_contexts(int parts) const {
  LoadSums part = *this;
  if (parts == 1) return part;
  part.context_tokens = std::max(query_tokens, share_of(context_tokens, parts));
  part.context_tokens_max = std::max(query_tokens_max, share_of(context_tokens_max, parts));
  const bool is_one_each = query_tokens == sequences;
  part.causal_pairs = is_one_each ? static_cast<double>(part.context_tokens) : causal_pairs / parts;
  return part;
}

AttentionLoad AttentionLoad::of(LoadPart part, int context_parts) const {
  if (part == LoadPart::all && context_parts == 1) return *this;
  AttentionLoad load;
  if (part != LoadPart::decode) load.prefill = prefill.part_of_contexts(context_parts);
  if (part != LoadPart::prefill) load.decode = decode.part_of_contexts(context_parts);
  if (sequences.empty()) return load;
  load.prefill = load.decode = {};
  for (SequenceSlice slice : sequences) {
    const bool decodes = is_decode(slice);
    if (part != LoadPart::all && decodes != (part == LoadPart::decode)) continue;
    slice.context_tokens =
        std::max(slice.query_tokens, share_of(slice.context_tokens, context_parts));
    (decodes ? load.decode : load.prefill).add(slice);
    load.sequences.push_back(slice);
  }
  return load;
}

/// A piece has half of the share's queries; before the first of a prompt stands its prefix alone.
AttentionLoad AttentionLoad::share_of_prompts(int parts) const {
  AttentionLoad load;
  load.decode = decode;
  if (sequences.empty() && prefill.sequences > 0) {
    const std::int64_t piece = std::max<std::int64_t>(1, share_of(prefill.query_tokens, 2 * parts));
    load.prefill = prefill;
    load.prefill.sequences *= 2;
    load.prefill.query_tokens = 2 * piece;
    load.prefill.query_tokens_max =
        std::max<std::int64_t>(1, share_of(prefill.query_tokens_max, 2 * parts));
    load.prefill.context_tokens = 2 * prefill.context_tokens - prefill.query_tokens + piece;
    load.prefill.causal_pairs = prefill.causal_pairs / parts;
  }
  for (const SequenceSlice& slice : sequences) {
    if (is_decode(slice)) {
      load.sequences.push_back(slice);
      continue;
    }
    const std::int64_t piece = std::max<std::int64_t>(1, share_of(slice.query_tokens, 2 * parts));
    for (const SequenceSlice& own :
         {SequenceSlice{piece, slice.context_tokens - slice.query_tokens + piece},
          SequenceSlice{piece, std::max(piece, slice.context_tokens)}}) {
      load.prefill.add(own);
      load.sequences.push_back(own);
    }
  }
  return load;
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
