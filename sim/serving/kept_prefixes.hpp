// Which prefixes replicas say that they keep: a router's index of what their caches told it. Unlike
// what it sent (sent_prefixes.hpp), it knows what was evicted and what is computed, and nothing of
// what is still to be.
#pragma once

#include <map>
#include <span>
#include <unordered_map>

#include "sim/base/error.hpp"
#include "sim/base/ids.hpp"
#include "workloads/requests/prefix_hashes.hpp"

namespace foretoken {

class KeptPrefixes {
 public:
  /// Chunks of the prompt that the replica keeps, from the first one on.
  [[nodiscard]] std::size_t known(ReplicaId replica, std::span<const PrefixRun> prompt) const {
    const auto kept = by_replica_.find(replica);
    if (kept == by_replica_.end()) return 0;
    std::size_t count = 0;
    for (PrefixRun run : prompt) {
      for (; run.count > 0; run = run.behind(1), ++count)
        if (!kept->second.contains(run.first)) return count;
    }
    return count;
  }

  void keep(ReplicaId replica, std::uint64_t hash) { ++by_replica_[replica][hash]; }
  void lose(ReplicaId replica, std::uint64_t hash) {
    auto& kept = by_replica_[replica];
    const auto found = kept.find(hash);
    FORETOKEN_CHECK(found != kept.end(), "replica {} loses prefix chunk {:x}, which it never kept",
                    replica.value, hash);
    if (--found->second == 0) kept.erase(found);
  }
  void forget(ReplicaId replica) { by_replica_.erase(replica); }

 private:
  /// Attention ranks that keep it, by chunk.
  std::map<ReplicaId, std::unordered_map<std::uint64_t, int>> by_replica_;
};

}  // namespace foretoken
