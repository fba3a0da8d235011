// Which prefixes a router has sent where: an index of prefix chunks for each replica, of bounded
// size, the chunks used last. A router cannot look into caches, so this is what it takes them to
// hold; it knows nothing of what they evict or have computed.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/serving/prefix_cache.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

/// Hashes of the prompt's whole chunks alone: what will be answered is not known yet.
inline std::span<const std::uint64_t> whole_chunks(const Request& request) {
  if (request.prefix_block_tokens == 0) return {};
  const auto whole = static_cast<std::size_t>(request.prompt_tokens / request.prefix_block_tokens);
  return std::span(request.prefix_hashes).first(std::min(whole, request.prefix_hashes.size()));
}

class SentPrefixes {
 public:
  /// `chunks_max` of each replica.
  explicit SentPrefixes(std::int64_t chunks_max) : chunks_max_(chunks_max) {}

  /// Chunks of the prompt that went to the replica before, from the first one on.
  [[nodiscard]] std::size_t known(ReplicaId replica, std::span<const std::uint64_t> hashes) const {
    std::size_t count = 0;
    while (count < hashes.size() && knows(replica, hashes[count])) ++count;
    return count;
  }
  /// Whether this chunk did.
  [[nodiscard]] bool knows(ReplicaId replica, std::uint64_t hash) const {
    return replica.value < by_replica_.size() &&
           by_replica_[replica.value].find(hash) != PrefixCache::none;
  }

  /// The prompt's last chunk becomes the oldest of them: it is of no use without those before.
  void add(ReplicaId replica, std::span<const std::uint64_t> hashes) {
    if (hashes.empty()) return;
    if (replica.value >= by_replica_.size()) by_replica_.resize(replica.value + 1);
    PrefixCache& chunks = by_replica_[replica.value];
    for (std::size_t i = hashes.size(); i-- > 0;) {
      PrefixCache::Chunk chunk = chunks.find(hashes[i]);
      if (chunk == PrefixCache::none) {
        chunk = chunks.add(hashes[i], 1);
      } else {
        chunks.take(chunk);
      }
      chunks.give_back(chunk);
    }
    while (chunks.idle_blocks() > chunks_max_) chunks.evict_one();
  }

  /// What its cache held is gone.
  void forget(ReplicaId replica) {
    if (replica.value < by_replica_.size()) by_replica_[replica.value] = PrefixCache();
  }

 private:
  std::int64_t chunks_max_;
  std::vector<PrefixCache> by_replica_;  // every chunk is idle: nobody holds on to it here
};

}  // namespace foretoken
