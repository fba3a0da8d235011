#include "sim/serving/half_batch.hpp"

#include <algorithm>

namespace foretoken {
namespace {

using SlicePair = std::pair<SequenceSlice, SequenceSlice>;

/// A prompt in two chunks, `later` tokens in the second: the first ends where the second begins.
SlicePair cut(const SequenceSlice& slice, std::int64_t later) {
  return {{slice.query_tokens - later, slice.context_tokens - later},
          {later, slice.context_tokens}};
}

/// Halves of sums over several alike sequences.
std::pair<LoadSums, LoadSums> split_many(const LoadSums& sums) {
  LoadSums second = sums;
  second.sequences = sums.sequences / 2;
  const double share = static_cast<double>(second.sequences) / static_cast<double>(sums.sequences);
  const auto part = [share](std::int64_t value) {
    return static_cast<std::int64_t>(static_cast<double>(value) * share);
  };
  second.query_tokens = sums.query_tokens * second.sequences / sums.sequences;
  second.context_tokens = part(sums.context_tokens);
  second.causal_pairs = sums.causal_pairs * share;
  LoadSums first = sums;
  first.sequences -= second.sequences;
  first.query_tokens -= second.query_tokens;
  first.context_tokens -= second.context_tokens;
  first.causal_pairs -= second.causal_pairs;
  return {first, second};
}

/// A single prompt is cut, a single decode is not, with or without drafts.
std::pair<LoadSums, LoadSums> split_sums(const LoadSums& sums, bool are_prompts) {
  if (sums.sequences > 1) return split_many(sums);
  std::pair<LoadSums, LoadSums> halves;
  if (sums.sequences == 0) return halves;
  if (!are_prompts) return {sums, {}};
  const auto [earlier, later] =
      cut({sums.query_tokens, sums.context_tokens}, sums.query_tokens / 2);
  halves.first.add(earlier);
  if (later.query_tokens > 0) halves.second.add(later);
  return halves;
}

/// Prompts in their order by tokens, the one in the middle cut in two chunks; decodes in turn.
/// (SGLang leaves the prompts whole where 48 to 52 % of the tokens end with one of them.)
std::pair<AttentionLoad, AttentionLoad> split_list(const AttentionLoad& load) {
  std::vector<SequenceSlice> first, second;
  std::int64_t left =
      load.prefill.query_tokens - load.prefill.query_tokens / 2;  // of the first half
  const std::int64_t decode_queries = std::max<std::int64_t>(load.decode.query_tokens_max, 1);
  bool is_firsts_turn = true;
  for (const SequenceSlice& slice : load.sequences) {
    if (load.is_decode(slice)) {
      (is_firsts_turn ? first : second).push_back(slice);
      is_firsts_turn = !is_firsts_turn;
      continue;
    }
    std::int64_t here = std::min(slice.query_tokens, left);
    if (here > 0 && here < slice.query_tokens) {  // neither chunk is as short as a decode
      here = std::max(here, decode_queries + 1);
      if (slice.query_tokens - here <= decode_queries) here = slice.query_tokens;
    }
    const auto [earlier, later] = cut(slice, slice.query_tokens - here);
    if (here > 0) first.push_back(earlier);
    if (here < slice.query_tokens) second.push_back(later);
    left = std::max<std::int64_t>(left - here, 0);
  }
  return {AttentionLoad::exact(std::move(first), decode_queries),
          AttentionLoad::exact(std::move(second), decode_queries)};
}

}  // namespace

std::pair<BatchShape, BatchShape> split_in_half(const BatchShape& batch) {
  std::pair<BatchShape, BatchShape> halves;
  auto& [first, second] = halves;
  if (batch.attention.sequences.empty()) {
    std::tie(first.attention.prefill, second.attention.prefill) =
        split_sums(batch.attention.prefill, true);
    std::tie(first.attention.decode, second.attention.decode) =
        split_sums(batch.attention.decode, false);
  } else {
    std::tie(first.attention, second.attention) = split_list(batch.attention);
  }
  second.tokens = second.attention.query_tokens();
  first.tokens = batch.tokens - second.tokens;
  second.logit_rows = second.tokens > 0 ? batch.logit_rows / 2 : 0;
  first.logit_rows = batch.logit_rows - second.logit_rows;
  return halves;
}

}  // namespace foretoken
