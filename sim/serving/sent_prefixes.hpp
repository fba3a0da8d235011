// Which prefixes a router has sent where: an index of prefix chunks for each replica, of bounded
// size, the chunks used last. A router cannot look into caches, so this is what it takes them to
// hold; it knows nothing of what they evict or have computed.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/serving/prefix_cache.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

/// Hashes of the prompt's whole chunks alone: what will be answered is not known yet.
inline PrefixRuns whole_chunks(const Request& request, std::int64_t chunks_max) {
  const std::int64_t whole =
      request.prefix_block_tokens > 0 ? request.prompt_tokens / request.prefix_block_tokens : 0;
  return request.prefix_hashes.first(std::min(whole, chunks_max));
}

class SentPrefixes {
 public:
  /// `chunks_max` of each replica.
  explicit SentPrefixes(std::int64_t chunks_max) : chunks_max_(chunks_max) {}

  /// Chunks of a prompt of these runs that went to the replica before, from the first one on.
  [[nodiscard]] std::size_t known(ReplicaId replica, std::span<const PrefixRun> prompt) const {
    if (replica.value >= by_replica_.size()) return 0;
    std::int64_t count = 0;
    for (const PrefixRun& run : prompt) {
      const std::int64_t found = by_replica_[replica.value].find(run).chunks;
      count += found;
      if (found < run.count) break;
    }
    return static_cast<std::size_t>(count);
  }

  /// Calls `visit(begin, end, replicas)` for parts of the prompt, the last one first, until it
  /// returns true: all replicas that know any chunk of the part. Whoever was not named so far knows
  /// no more than the chunks before its end.
  template <class Visit>
  void visit_parts(std::span<const PrefixRun> prompt, const Visit& visit) const {
    std::int64_t chunks = 0;
    for (const PrefixRun& run : prompt) chunks += run.count;
    for (std::size_t i = prompt.size(); i-- > 0;) {
      PrefixRun rest = prompt[i];
      while (rest.count > 0) {
        const PrefixRun part = PrefixCache::last_page_of(rest);
        chunks -= part.count;
        rest.count -= part.count;
        const auto found = replicas_of_.find(PrefixCache::page_of(part.first));
        if (found != replicas_of_.end() &&
            visit(static_cast<std::size_t>(chunks), static_cast<std::size_t>(chunks + part.count),
                  std::span(std::as_const(found->second))))
          return;
      }
    }
  }

  /// The prompt's last chunk becomes the oldest of them: it is of no use without those before.
  void add(ReplicaId replica, std::span<const PrefixRun> prompt) {
    if (prompt.empty()) return;
    if (replica.value >= by_replica_.size()) by_replica_.resize(replica.value + 1);
    PrefixCache& chunks = by_replica_[replica.value];
    for (auto run = prompt.rbegin(); run != prompt.rend(); ++run) {
      note_pages(replica, *run);
      chunks.touch(*run, 1);
    }
    while (chunks.idle_blocks() > chunks_max_) {
      const PrefixCache::Evicted gone = chunks.evict(chunks.idle_blocks() - chunks_max_);
      const std::uint64_t page = PrefixCache::page_of(gone.run.first);
      if (!chunks.has_page(page)) leave_page(replica, page);
    }
  }

  /// What its cache held is gone.
  void forget(ReplicaId replica) {
    if (replica.value >= by_replica_.size()) return;
    by_replica_[replica.value] = PrefixCache();
    for (auto page = replicas_of_.begin(); page != replicas_of_.end();) {
      std::erase(page->second, replica.value);
      page = page->second.empty() ? replicas_of_.erase(page) : std::next(page);
    }
  }

 private:
  void note_pages(ReplicaId replica, PrefixRun run) {
    while (run.count > 0) {
      const PrefixRun part = PrefixCache::last_page_of(run);
      const std::uint64_t page = PrefixCache::page_of(part.first);
      if (!by_replica_[replica.value].has_page(page)) replicas_of_[page].push_back(replica.value);
      run.count -= part.count;
    }
  }
  void leave_page(ReplicaId replica, std::uint64_t page) {
    const auto found = replicas_of_.find(page);
    std::erase(found->second, replica.value);
    if (found->second.empty()) replicas_of_.erase(found);
  }

  std::int64_t chunks_max_;
  std::vector<PrefixCache> by_replica_;  // every chunk is idle: nobody holds on to it here
  /// Who has chunks of a page. Looked up, never walked into a result.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> replicas_of_;
};

}  // namespace foretoken
