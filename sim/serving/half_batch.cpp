#include "sim/serving/half_batch.hpp"

#include <algorithm>

namespace foretoken {
namespace {

using SlicePair = std::pair<SequenceSlice, SequenceSlice>;

/// A prompt's first chunk ends where the second begins.
SlicePair cut(const SequenceSlice& slice) {
  const std::int64_t later = slice.query_tokens / 2;
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
  const auto [earlier, later] = cut({sums.query_tokens, sums.context_tokens});
  halves.first.add(earlier);
  if (later.query_tokens > 0) halves.second.add(later);
  return halves;
}

/// Every other sequence; the last prompt is cut if they are odd.
std::pair<AttentionLoad, AttentionLoad> split_list(const AttentionLoad& load) {
  const std::vector<SequenceSlice>& sequences = load.sequences;
  std::vector<SequenceSlice> first, second;
  bool is_firsts_turn = true;
  const auto deal = [&](bool prompts) {
    const auto is_dealt = [&](const SequenceSlice& slice) {
      return load.is_decode(slice) != prompts;
    };
    auto left = std::ranges::count_if(sequences, is_dealt);
    for (const SequenceSlice& slice : sequences) {
      if (!is_dealt(slice)) continue;
      if (--left == 0 && prompts && is_firsts_turn) {
        const auto [earlier, later] = cut(slice);
        first.push_back(earlier);
        second.push_back(later);
        continue;
      }
      (is_firsts_turn ? first : second).push_back(slice);
      is_firsts_turn = !is_firsts_turn;
    }
  };
  deal(true);
  deal(false);
  const std::int64_t decode_queries = std::max<std::int64_t>(load.decode.query_tokens_max, 1);
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
