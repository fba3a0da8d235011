// The host's memory as a second place for KV blocks: prefix chunks that had to leave the GPU, until
// others that were used later need the room, and the blocks of sequences that were swapped out,
// which stay until they are fetched. Only counts are kept, as in the KV cache. What moves when, and
// how long it takes, is KvCache's and the replica's.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/serving/prefix_cache.hpp"

namespace foretoken {

class HostPool {
 public:
  /// 0 blocks: there is none, and nothing fits.
  explicit HostPool(std::int64_t blocks) : blocks_(blocks) {}

  /// Whether the prefix chunk with this hash is here.
  [[nodiscard]] bool holds(std::uint64_t hash) const { return chunks_.holds(hash); }
  /// A chunk that left the GPU comes in, or is found to be here still; either is a use. Chunks used
  /// longest ago go for it (take_evicted()). Returns whether it had to be copied; one that cannot
  /// fit is lost.
  bool keep(std::uint64_t hash, std::int64_t blocks);
  /// The chunk, which is here, is being copied to the GPU: it stays until unpin(), which is a use.
  void pin(std::uint64_t hash) { chunks_.take({hash, 1}); }
  void unpin(std::uint64_t hash) { chunks_.give_back({hash, 1}); }

  /// Room for the blocks of a sequence, for which chunks go. Returns false and changes nothing if
  /// there is not enough.
  bool reserve(std::int64_t blocks);
  /// Gives it back.
  void give_back(std::int64_t blocks);

  /// Chunks that had to go since the last call, in the order in which they went.
  [[nodiscard]] std::vector<PrefixCache::Evicted> take_evicted() {
    return std::exchange(evicted_, {});
  }

  /// Those that are here and not being copied, the one used longest ago first.
  [[nodiscard]] std::vector<PrefixCache::Evicted> chunks() const { return chunks_.idle(); }

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] std::int64_t used() const { return used_; }
  [[nodiscard]] std::int64_t used_peak() const { return used_peak_; }
  /// Of `used`, of sequences.
  [[nodiscard]] std::int64_t swapped() const { return swapped_; }

 private:
  /// Returns false and changes nothing if that many cannot be had.
  bool take(std::int64_t blocks);

  std::int64_t blocks_;
  std::int64_t used_ = 0, used_peak_ = 0, swapped_ = 0;
  PrefixCache chunks_;  // idle but for pinned ones
  std::vector<PrefixCache::Evicted> evicted_;
};

}  // namespace foretoken
