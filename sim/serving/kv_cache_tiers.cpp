// What moves between a KV cache's tiers: chunks that have to leave the GPU go to the host's memory,
// from there to a store, and come back when they are asked for, or before.
#include <utility>

#include "sim/serving/kv_cache.hpp"

namespace foretoken {

bool KvCache::evict(std::int64_t wanted) {
  if (wanted > free()) return false;
  while (free_.count() < wanted) {
    // What comes to the host may push others out of it, which must find the rest in place.
    const std::int64_t at_once = host_.blocks() > 0 ? 1 : wanted - free_.count();
    const PrefixCache::Evicted evicted = prefixes_.evict(at_once);
    free_.give_back(evicted.run.count * evicted.blocks);
    if (host_.blocks() == 0 && listener_ == nullptr && store_ == nullptr) continue;
    for (std::int64_t i = evicted.run.count; i-- > 0;)
      leave_gpu(evicted.run.first + static_cast<std::uint64_t>(i), evicted.blocks);
  }
  return true;
}

void KvCache::leave_gpu(std::uint64_t hash, std::int64_t blocks) {
  const bool was_on_host = host_.holds(hash);
  if (host_.keep(hash, blocks)) {
    count_copies({.to_host = blocks});
    leave_host(host_.take_evicted());
  } else if (!was_on_host) {
    leave_host(hash, blocks);
  }
}

void KvCache::leave_host(const std::vector<PrefixCache::Evicted>& chunks) {
  for (const PrefixCache::Evicted& chunk : chunks) leave_host(chunk.run.first, chunk.blocks);
}

void KvCache::leave_host(std::uint64_t hash, std::int64_t blocks) {
  if (listener_ != nullptr && !prefixes_.holds(hash)) listener_->on_prefix_gone(hash);
  store(hash, blocks);
}

void KvCache::store(std::uint64_t hash, std::int64_t blocks) {
  if (store_ != nullptr && store_->keep(hash, blocks)) count_copies({.to_store = blocks});
}

void KvCache::fetch(std::span<const std::uint64_t> hashes, std::int64_t chunk_blocks) {
  const std::int64_t wanted = chunk_blocks * std::ssize(hashes);
  const bool any = evict(wanted);
  FORETOKEN_CHECK(any, "{} of {} KV blocks are free, {} are to be copied", free(), blocks_, wanted);
  free_.take(wanted);
  for (const std::uint64_t hash : hashes) {
    const bool is_on_host = host_.holds(hash);
    is_on_host ? host_.unpin(hash) : store_->unpin(hash);
    count_copies(is_on_host ? KvCopies{.from_host = chunk_blocks}
                            : KvCopies{.from_store = chunk_blocks});
    if (listener_ != nullptr && !is_on_host) listener_->on_prefix_kept(hash);
    const std::int64_t added = prefixes_.add({hash, 1}, chunk_blocks);
    FORETOKEN_CHECK(added == 1, "prefix chunk {:x} is copied to where it is", hash);
  }
}

std::vector<std::uint64_t> KvCache::in_store(const Sequence& sequence) const {
  std::vector<std::uint64_t> found;
  if (!shares_prefixes_ || store_ == nullptr) return found;
  std::int64_t tokens = 0;
  for (const std::uint64_t hash : sequence.prefix_hashes) {
    tokens += sequence.prefix_chunk_tokens;
    if (tokens >= sequence.known_tokens()) break;
    if (prefixes_.holds(hash) || host_.holds(hash)) continue;
    if (!store_->holds(hash)) break;
    found.push_back(hash);
  }
  return found;
}

void KvCache::take_prefetched(std::uint64_t hash, std::int64_t blocks) {
  copies_total_ += {.prefetched = blocks};
  const bool is_on_gpu = prefixes_.holds(hash);
  const bool is_new = host_.keep(hash, blocks);
  leave_host(host_.take_evicted());
  if (listener_ != nullptr && is_new && !is_on_gpu) listener_->on_prefix_kept(hash);
}

std::vector<PrefixCache::Evicted> KvCache::idle_prefixes() const {
  std::vector<PrefixCache::Evicted> found = host_.chunks();
  for (const PrefixCache::Evicted& chunk : prefixes_.idle()) found.push_back(chunk);
  return found;
}

}  // namespace foretoken
