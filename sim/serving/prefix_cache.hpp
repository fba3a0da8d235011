// Prompt prefixes whose keys and values stay in the KV cache: chunks of blocks, found again by a
// hash that covers everything before them, so that equal hashes mean equal prefixes. A chunk that a
// sequence uses cannot go; one that nobody uses any more stays until its blocks are needed, the one
// unused longest first (of one sequence's chunks the last one first, since it is of no use without
// those before it).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {

/// Is told of each prefix chunk that a replica can serve from now on without computing it, from its
/// GPUs or its host's memory, and of each that it no longer can.
class PrefixListener {
 public:
  virtual ~PrefixListener() = default;
  virtual void on_prefix_kept(std::uint64_t hash) = 0;
  virtual void on_prefix_gone(std::uint64_t hash) = 0;
};

class PrefixCache {
 public:
  using Chunk = std::uint32_t;
  static constexpr Chunk none = ~Chunk{0};

  /// The chunk with this hash, or none. Does not count as a use.
  [[nodiscard]] Chunk find(std::uint64_t hash) const {
    const auto found = by_hash_.find(hash);
    return found == by_hash_.end() ? none : found->second;
  }
  [[nodiscard]] std::int64_t blocks(Chunk chunk) const { return chunks_[chunk].blocks; }
  [[nodiscard]] bool is_idle(Chunk chunk) const { return chunks_[chunk].users == 0; }

  /// Adds a chunk with one user. Its hash must not be known.
  Chunk add(std::uint64_t hash, std::int64_t blocks);
  /// One user more; one less.
  void take(Chunk chunk);
  void give_back(Chunk chunk);

  /// Blocks of chunks that nobody uses.
  [[nodiscard]] std::int64_t idle_blocks() const { return idle_blocks_; }
  struct Evicted {
    std::uint64_t hash = 0;
    std::int64_t blocks = 0;
  };
  /// Forgets the chunk unused longest and says which it was. There must be an idle one.
  Evicted evict_one();

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::int64_t blocks = 0;
    std::int64_t users = 0;
    Chunk older = none, newer = none;  // among the idle
  };
  void link_as_newest(Chunk chunk);
  void unlink(Chunk chunk);

  std::vector<Entry> chunks_;
  std::vector<Chunk> free_;                           // of chunks_
  std::unordered_map<std::uint64_t, Chunk> by_hash_;  // looked up, never walked
  Chunk oldest_ = none, newest_ = none;
  std::int64_t idle_blocks_ = 0;
};

}  // namespace foretoken
