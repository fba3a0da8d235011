#include "sim/serving/preempter.hpp"

#include <algorithm>

namespace foretoken {

void Preempter::preempt(Sequence& victim) { cache_.preempt(victim); }

KvEntry Preempter::find(const Sequence& sequence) const {
  const PrefixMatch match = cache_.match_prefix(sequence);
  return {match, match.tokens};
}

std::int64_t Preempter::blocks_wanted(const KvEntry& entry, std::int64_t tokens) const {
  return cache_.blocks_for(tokens) - entry.match.blocks + entry.match.idle_blocks;
}

bool Preempter::let_in(Sequence& sequence, const KvEntry& entry, std::int64_t tokens,
                       std::int64_t reserved_tokens) {
  const std::int64_t held = entry.tokens + tokens;
  if (!cache_.start(sequence, entry.match, held, std::max(held, reserved_tokens))) return false;
  sequence.computed = entry.tokens;
  return true;
}

}  // namespace foretoken
