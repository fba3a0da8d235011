// The KV blocks that nobody holds, in the order in which they were freed: those freed longest ago
// are taken first. A preempted sequence's blocks keep what it computed until they are taken, its
// last ones first, so that it need not compute all of it again (vLLM's free block queue, with
// prefix caching).
#pragma once

#include <cstdint>
#include <deque>

#include "sim/serving/sequence.hpp"

namespace foretoken {

class FreeBlocks {
 public:
  explicit FreeBlocks(std::int64_t blocks);

  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Takes `blocks`, of which there must be as many.
  void take(std::int64_t blocks) {
    count_ -= blocks;
    Run& oldest = runs_.front();
    if (oldest.owner == nullptr && oldest.blocks > blocks) {
      oldest.blocks -= blocks;
    } else {
      take_from_several(blocks);
    }
  }
  /// They hold nothing that will be asked for.
  void give_back(std::int64_t blocks);
  /// They hold the beginning of `owner`, in its order; its `left_blocks` says how much still.
  void leave(Sequence& owner, std::int64_t blocks);
  /// Takes what `owner` has left, or (if it will not come back) forgets whose it was.
  void reclaim(Sequence& owner);
  void disown(Sequence& owner);

 private:
  struct Run {
    Sequence* owner;
    std::int64_t blocks;
  };
  void take_from_several(std::int64_t blocks);

  std::deque<Run> runs_;  // the oldest first; never empty
  std::int64_t count_;
};

}  // namespace foretoken
