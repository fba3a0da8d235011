// What an attention launch has to work through: which sequences, how many new tokens each, and how
// long their contexts are. Two exactnesses: `sequences` lists every one (step, predict,
// validation); when it is empty only the sums are known (simulate: they are updated as contexts
// grow).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace foretoken {

/// One sequence in one step: `query_tokens` new tokens whose keys end at `context_tokens`
/// (the context includes the queries themselves).
struct SequenceSlice {
  std::int64_t query_tokens = 0;
  std::int64_t context_tokens = 0;
  friend bool operator==(const SequenceSlice&, const SequenceSlice&) = default;
};

/// Sums over a set of slices.
struct LoadSums {
  std::int64_t sequences = 0;
  std::int64_t query_tokens = 0;
  std::int64_t context_tokens = 0;      // sum of contexts: the KV that is read
  std::int64_t context_tokens_max = 0;  // longest context
  std::int64_t query_tokens_max = 0;
  /// Sum over sequences and queries of the keys a causal query sees (query x key pairs).
  double causal_pairs = 0;

  void add(const SequenceSlice& slice);
  friend bool operator==(const LoadSums&, const LoadSums&) = default;
};

/// Decode slices have one query token, or, where drafted tokens are verified, one and the drafts;
/// prefill slices have more (or are a prompt's last single token: the caller says which).
struct AttentionLoad {
  LoadSums prefill;
  LoadSums decode;
  std::vector<SequenceSlice> sequences;  // exact mode; empty = aggregate

  /// Exact load from a list; a slice with up to `decode_queries_max` query tokens counts as decode.
  static AttentionLoad exact(std::vector<SequenceSlice> slices,
                             std::int64_t decode_queries_max = 1);

  /// Whether a slice of `sequences` is among the decodes.
  [[nodiscard]] bool is_decode(const SequenceSlice& slice) const {
    return slice.query_tokens <= std::max<std::int64_t>(decode.query_tokens_max, 1);
  }
  /// Whether decodes have more than one query: drafted tokens are verified.
  [[nodiscard]] bool verifies_drafts() const { return decode.query_tokens > decode.sequences; }

  [[nodiscard]] std::int64_t query_tokens() const {
    return prefill.query_tokens + decode.query_tokens;
  }
  friend bool operator==(const AttentionLoad&, const AttentionLoad&) = default;
};

/// Pairs of one slice: sum over its queries i of the keys seen, with a causal mask and, if
/// `window` > 0, at most `window` keys a query. Exact integers below 2^53.
double causal_pairs(const SequenceSlice& slice, std::int64_t window = 0);

}  // namespace foretoken
