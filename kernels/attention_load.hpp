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
  /// What one of `parts` ranks has of contexts that are spread evenly over them, token by token;
  /// all queries. No context is shorter than its queries.
  [[nodiscard]] LoadSums part_of_contexts(int parts) const;
  friend bool operator==(const LoadSums&, const LoadSums&) = default;
};

/// What of a step's load a launch works through. decode: slices of one query token, or of one and
/// the drafts that are verified.
enum class LoadPart { all, prefill, decode };

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
  /// One of `parts` equal shares of the prompts' queries: of 2 `parts` pieces of each the first and
  /// the last, so that all shares see as many keys. Decodes stay.
  [[nodiscard]] AttentionLoad share_of_prompts(int parts) const;
  [[nodiscard]] bool empty() const { return prefill.sequences + decode.sequences == 0; }
  /// The prompts or the decodes alone, with one rank's part of contexts that `context_parts` share.
  [[nodiscard]] AttentionLoad of(LoadPart part, int context_parts = 1) const;
  friend bool operator==(const AttentionLoad&, const AttentionLoad&) = default;
};

/// Pairs of one slice: sum over its queries i of the keys seen, with a causal mask and, if
/// `window` > 0, at most `window` keys a query. Exact integers below 2^53.
double causal_pairs(const SequenceSlice& slice, std::int64_t window = 0);

}  // namespace foretoken
