// The paged KV cache of one replica as a pool of equal blocks: sequences take blocks as they grow
// and give all back at once. Blocks that hold a known prefix of a prompt stay findable afterwards
// (prefix_cache.hpp) and are only taken for something else when no other block is free. Only counts
// are kept; which block is where does not matter.
#pragma once

#include <cstdint>

#include "sim/base/error.hpp"
#include "sim/serving/prefix_cache.hpp"
#include "sim/serving/sequence.hpp"

namespace foretoken {

/// The part of a prompt that is in the cache already.
struct PrefixMatch {
  std::int64_t tokens = 0;
  std::size_t chunks = 0;
  std::int64_t blocks = 0;       // of these chunks
  std::int64_t idle_blocks = 0;  // of those that nobody uses
};

/// Prompt tokens of sequences that started (again after a preemption not counted), and those of
/// them that were found in the cache.
struct PrefixTotals {
  std::int64_t tokens_asked = 0, tokens_found = 0;
};

class KvCache {
 public:
  KvCache(std::int64_t blocks, int block_tokens, bool shares_prefixes = false);

  /// Blocks that `tokens` tokens occupy.
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_tokens_ - 1) / block_tokens_;
  }

  /// The longest prefix in the cache of a sequence that holds nothing. At least one of its known
  /// tokens is left to compute, since an engine needs the last one's logits.
  [[nodiscard]] PrefixMatch match_prefix(const Sequence& sequence) const;
  /// Lets a sequence that holds nothing hold `tokens` tokens, `match` among them, and keeps blocks
  /// for `reserved_tokens` of it (no fewer than `tokens`). Returns false and changes nothing if
  /// blocks are short.
  bool start(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens,
             std::int64_t reserved_tokens);
  bool start(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens) {
    return start(sequence, match, tokens, tokens);
  }

  /// Lets `sequence` hold `tokens` tokens, which are being computed: whole prefix chunks among them
  /// can be found from now on. Returns false and changes nothing if blocks are short.
  bool grow(Sequence& sequence, std::int64_t tokens) {
    const std::int64_t extra = blocks_for(tokens) - sequence.blocks;
    if (extra > 0) {
      if (extra > free_ && !evict(extra)) return false;
      free_ -= extra;
      sequence.blocks += extra;
    }
    if (tokens >= sequence.next_chunk_at) publish(sequence, tokens);
    return true;
  }
  /// Takes all blocks back.
  void release(Sequence& sequence);

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  /// Blocks that can be had: free ones and idle prefixes.
  [[nodiscard]] std::int64_t free() const { return free_ + prefixes_.idle_blocks(); }
  [[nodiscard]] std::int64_t used() const { return blocks_ - free(); }
  [[nodiscard]] int block_tokens() const { return static_cast<int>(block_tokens_); }

  [[nodiscard]] const PrefixTotals& prefix_totals() const { return prefix_totals_; }

 private:
  /// Until `wanted` blocks are free. Returns false and changes nothing if that many cannot be had.
  bool evict(std::int64_t wanted);
  void publish(Sequence& sequence, std::int64_t tokens);

  std::int64_t blocks_;
  std::int64_t free_;  // without idle prefixes
  std::int64_t block_tokens_;
  bool shares_prefixes_;
  PrefixCache prefixes_;
  PrefixTotals prefix_totals_;
};

}  // namespace foretoken
