#include "sim/serving/kv_cache.hpp"

namespace foretoken {

KvCache::KvCache(std::int64_t blocks, int block_tokens)
    : blocks_(blocks), free_(blocks), block_tokens_(block_tokens) {
  FORETOKEN_CHECK(blocks > 0 && block_tokens > 0, "a KV cache of {} blocks of {} tokens", blocks,
                  block_tokens);
}

void KvCache::release(Sequence& sequence) {
  free_ += sequence.blocks;
  sequence.blocks = 0;
  FORETOKEN_CHECK(free_ <= blocks_, "{} free of {} KV blocks", free_, blocks_);
}

}  // namespace foretoken
