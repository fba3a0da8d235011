// What becomes of a sequence whose KV blocks others need, and how one that waits gets blocks: the
// one place through which every scheduler takes blocks away and gives them first. A sequence that
// is preempted gives all of them back; once it is let in again, it computes its tokens again, but
// for those that the prefix cache still has, or finds them in the host's memory (KvCache::preempt).
#pragma once

#include "sim/serving/kv_cache.hpp"

namespace foretoken {

/// What a sequence that holds nothing would find if it were let in now.
struct KvEntry {
  PrefixMatch match;
  std::int64_t tokens = 0;  // held already, not to be computed
};

class Preempter {
 public:
  explicit Preempter(KvCache& cache) : cache_(cache) {}

  /// Takes the blocks of `victim`, on which no step in flight works.
  void preempt(Sequence& victim);

  [[nodiscard]] KvEntry find(const Sequence& sequence) const;
  /// Blocks that must be free for `sequence` to be let in with `entry` and hold `tokens` tokens.
  [[nodiscard]] std::int64_t blocks_wanted(const KvEntry& entry, std::int64_t tokens) const;
  /// Lets `sequence` in: it computes `tokens` after those of `entry`, and keeps blocks for
  /// `reserved_tokens` in all (at least those). Returns false and changes nothing if blocks are
  /// short.
  bool let_in(Sequence& sequence, const KvEntry& entry, std::int64_t tokens,
              std::int64_t reserved_tokens);

 private:
  KvCache& cache_;
};

}  // namespace foretoken
