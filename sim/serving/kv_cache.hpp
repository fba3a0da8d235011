// The paged KV cache of one replica as a pool of equal blocks: sequences take blocks as they grow
// and give all back at once. Only counts are kept; which block is where does not matter until
// prefixes are shared.
#pragma once

#include <cstdint>

#include "sim/base/error.hpp"
#include "sim/serving/sequence.hpp"

namespace foretoken {

class KvCache {
 public:
  KvCache(std::int64_t blocks, int block_tokens);

  /// Blocks that `tokens` tokens occupy.
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_tokens_ - 1) / block_tokens_;
  }
  /// Lets `sequence` hold `tokens` tokens. Returns false and changes nothing if blocks are short.
  bool grow(Sequence& sequence, std::int64_t tokens) {
    const std::int64_t extra = blocks_for(tokens) - sequence.blocks;
    if (extra <= 0) return true;
    if (extra > free_) return false;
    free_ -= extra;
    sequence.blocks += extra;
    return true;
  }
  /// Takes all blocks back.
  void release(Sequence& sequence);

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] std::int64_t free() const { return free_; }
  [[nodiscard]] std::int64_t used() const { return blocks_ - free_; }
  [[nodiscard]] int block_tokens() const { return static_cast<int>(block_tokens_); }

 private:
  std::int64_t blocks_;
  std::int64_t free_;
  std::int64_t block_tokens_;
};

}  // namespace foretoken
