#include "sim/serving/host_pool.hpp"

#include <algorithm>

namespace foretoken {

bool HostPool::take(std::int64_t blocks) {
  if (blocks > blocks_ - used_ + chunks_.idle_blocks()) return false;
  while (blocks > blocks_ - used_) {
    evicted_.push_back(chunks_.evict(1));
    used_ -= evicted_.back().blocks;
  }
  used_ += blocks;
  used_peak_ = std::max(used_peak_, used_);
  return true;
}

bool HostPool::keep(std::uint64_t hash, std::int64_t blocks) {
  const PrefixRun chunk{hash, 1};
  if (chunks_.holds(hash)) {  // for others to copy, maybe
    chunks_.take(chunk);
    chunks_.give_back(chunk);
    return false;
  }
  if (!take(blocks)) return false;
  chunks_.touch(chunk, blocks);
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
