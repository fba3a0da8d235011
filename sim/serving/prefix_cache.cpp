#include "sim/serving/prefix_cache.hpp"

namespace foretoken {

PrefixCache::Chunk PrefixCache::add(std::uint64_t hash, std::int64_t blocks) {
  Chunk chunk = static_cast<Chunk>(chunks_.size());
  if (free_.empty()) {
    chunks_.emplace_back();
  } else {
    chunk = free_.back();
    free_.pop_back();
  }
  chunks_[chunk] = {hash, blocks, 1, none, none};
  const bool is_new = by_hash_.emplace(hash, chunk).second;
  FORETOKEN_CHECK(is_new, "prefix chunk {:x} is in the cache twice", hash);
  return chunk;
}

void PrefixCache::take(Chunk chunk) {
  if (chunks_[chunk].users++ > 0) return;
  unlink(chunk);
  idle_blocks_ -= chunks_[chunk].blocks;
}

void PrefixCache::give_back(Chunk chunk) {
  Entry& entry = chunks_[chunk];
  FORETOKEN_CHECK(entry.users > 0, "prefix chunk {:x} is given back by nobody", entry.hash);
  if (--entry.users > 0) return;
  link_as_newest(chunk);
  idle_blocks_ += entry.blocks;
}

PrefixCache::Evicted PrefixCache::evict_one() {
  const Chunk chunk = oldest_;
  FORETOKEN_CHECK(chunk != none, "no prefix chunk is idle");
  unlink(chunk);
  const Evicted evicted{chunks_[chunk].hash, chunks_[chunk].blocks};
  idle_blocks_ -= evicted.blocks;
  by_hash_.erase(evicted.hash);
  free_.push_back(chunk);
  return evicted;
}

void PrefixCache::link_as_newest(Chunk chunk) {
  chunks_[chunk].older = newest_;
  chunks_[chunk].newer = none;
  (newest_ == none ? oldest_ : chunks_[newest_].newer) = chunk;
  newest_ = chunk;
}

void PrefixCache::unlink(Chunk chunk) {
  const Entry& entry = chunks_[chunk];
  (entry.older == none ? oldest_ : chunks_[entry.older].newer) = entry.newer;
  (entry.newer == none ? newest_ : chunks_[entry.newer].older) = entry.older;
}

}  // namespace foretoken
