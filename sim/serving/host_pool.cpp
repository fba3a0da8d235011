#include "sim/serving/host_pool.hpp"

#include <algorithm>

namespace foretoken {

bool HostPool::take(std::int64_t blocks) {
  if (blocks > blocks_ - used_ + chunks_.idle_blocks()) return false;
  while (blocks > blocks_ - used_) {
    evicted_.push_back(chunks_.evict_one());
    used_ -= evicted_.back().blocks;
  }
  used_ += blocks;
  used_peak_ = std::max(used_peak_, used_);
  return true;
}

bool HostPool::keep(std::uint64_t hash, std::int64_t blocks) {
  if (const PrefixCache::Chunk known = chunks_.find(hash); known != PrefixCache::none) {
    chunks_.take(known);
    chunks_.give_back(known);
    return false;
  }
  if (!take(blocks)) return false;
  chunks_.give_back(chunks_.add(hash, blocks));
  return true;
}

bool HostPool::reserve(std::int64_t blocks) {
  if (!take(blocks)) return false;
  swapped_ += blocks;
  return true;
}

void HostPool::give_back(std::int64_t blocks) {
  FORETOKEN_CHECK(blocks <= swapped_, "{} swapped KV blocks given back of {}", blocks, swapped_);
  swapped_ -= blocks;
  used_ -= blocks;
}

}  // namespace foretoken
