// The paged KV cache of one attention rank as a pool of equal blocks: sequences take blocks as they
// grow and give all back at once. Blocks that hold a known prefix of a prompt stay findable
// afterwards (prefix_cache.hpp) and are only taken for something else when no other block is free;
// then they move to the host's memory, if there is room for KV blocks (host_pool.hpp), from there
// to a disk or a remote store, if there is one (kv_store.hpp), and are found there. Only counts are
// kept; which block is where does not matter.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/serving/free_blocks.hpp"
#include "sim/serving/host_pool.hpp"
#include "sim/serving/kv_beside.hpp"
#include "sim/serving/kv_store.hpp"
#include "sim/serving/prefix_cache.hpp"
#include "sim/serving/sequence.hpp"

namespace foretoken {

/// The part of a sequence that need not be computed (again).
struct PrefixMatch {
  std::int64_t tokens = 0;       // on the GPU, in the host's memory or in a store
  std::size_t chunks = 0;        // prefix chunks of these
  std::int64_t blocks = 0;       // on the GPU
  std::int64_t idle_blocks = 0;  // of those that nobody uses
  std::int64_t host_blocks = 0;  // to be copied from the host
  std::int64_t host_tokens = 0;  // in these
  std::int64_t store_tokens = 0;
};

/// Prompt tokens of sequences that started (again after a preemption not counted), and those of
/// them that were found, all together, in the host's memory and in a store.
struct PrefixCounts {
  std::int64_t tokens_asked = 0, tokens_found = 0, tokens_found_host = 0, tokens_found_store = 0;
  PrefixCounts& operator+=(const PrefixCounts& other);
};

/// Of prompts computed here, and of those whose KV caches come from another replica, which has
/// computed them.
struct PrefixTotals {
  PrefixCounts computed, received;
  [[nodiscard]] PrefixCounts all() const;
  PrefixTotals& operator+=(const PrefixTotals& other);
};

/// Blocks copied between GPU and host, and from wherever they were to a store; what is read from a
/// store goes on to the GPU.
struct KvCopies {
  std::int64_t to_host = 0, from_host = 0;
  std::int64_t to_store = 0, from_store = 0;
  std::int64_t prefetched = 0;  // from a store to the host, beside steps
  [[nodiscard]] bool any() const { return to_host + from_host + to_store + from_store > 0; }
  KvCopies& operator+=(const KvCopies& other);
};

/// What the host's memory is used for.
struct HostKv {
  std::int64_t blocks = 0;  // 0 = none
  bool swaps = false;       // preempted sequences wait there
};

/// What the host's memory was used for, and what was copied beyond, summed over ranks.
struct HostTotals {
  std::int64_t blocks = 0, used_peak = 0;
  KvCopies copies;
  std::int64_t swapped = 0;  // preemptions that kept their blocks
  HostTotals& operator+=(const HostTotals& other);
};

class KvCache {
 public:
  KvCache(std::int64_t blocks, int block_tokens, bool shares_prefixes = false, HostKv host = {},
          KvBeside beside = {}, KvStore* store = nullptr);

  /// Blocks of a sequence that holds `tokens` tokens.
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_tokens_ - 1) / block_tokens_ + beside_.blocks(tokens);
  }

  /// What is there already of a sequence that holds nothing: the longest prefix that is in the
  /// cache, or all that was swapped out. At least one of its known tokens is left to compute, since
  /// an engine needs the last one's logits.
  /// `store` false: a store is not looked at.
  [[nodiscard]] PrefixMatch match_prefix(const Sequence& sequence, bool store = true) const;
  /// Lets a sequence that holds nothing hold `tokens` tokens, `match` among them, and keeps blocks
  /// for `reserved_tokens` of it (no fewer than `tokens`). Returns false and changes nothing if
  /// blocks are short.
  bool start(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens,
             std::int64_t reserved_tokens);
  bool start(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens) {
    return start(sequence, match, tokens, tokens);
  }
  /// The same for a sequence whose KV cache another replica computes: it holds `match`, and blocks
  /// for `reserved_tokens` tokens.
  bool reserve(Sequence& sequence, const PrefixMatch& match, std::int64_t reserved_tokens);

  /// Lets `sequence` hold `tokens` tokens, which are being computed: whole prefix chunks among them
  /// can be found from now on. Returns false and changes nothing if blocks are short.
  bool grow(Sequence& sequence, std::int64_t tokens) {
    const std::int64_t held = sequence.tokens_with_room(tokens);
    const bool has_blocks =
        beside_.is_none() && held <= std::int64_t{sequence.blocks} * block_tokens_;
    const std::int64_t extra = has_blocks ? 0 : blocks_for(held) - sequence.blocks;
    if (extra > 0) {
      if (extra > free_.count() && !evict(extra)) return false;
      free_.take(extra);
      sequence.blocks += extra;
    }
    if (tokens >= sequence.next_chunk_at && !publish_next(sequence, tokens))
      publish(sequence, tokens);
    return true;
  }
  /// Chunks of a sequence's prefix that a store alone has, from the first that the GPU and the host
  /// lack on.
  [[nodiscard]] std::vector<std::uint64_t> in_store(const Sequence& sequence) const;
  /// A chunk has come from the store to the host.
  void take_prefetched(std::uint64_t hash, std::int64_t blocks);

  /// `to`, which holds nothing, holds all that `from` held.
  static void move_holding(Sequence& from, Sequence& to);
  /// Takes all blocks back, swapped ones too.
  void release(Sequence& sequence);

  /// Takes a running sequence's blocks for others and counts the preemption: they are swapped out
  /// where the engine swaps and the host has room. Else what was computed can be found again until
  /// its blocks are taken, if prefixes are shared. The sequence must not be in flight; either way
  /// it starts again like a new one, by match_prefix() and start().
  void preempt(Sequence& sequence);

  /// Prefixes that are here and that nobody uses: the host's, then the GPU's, of each the one used
  /// longest ago first.
  [[nodiscard]] std::vector<PrefixCache::Evicted> idle_prefixes() const;

  /// Tells `listener`, which must outlive the cache, what prefixes it finds from now on.
  void tell(PrefixListener* listener) { listener_ = listener; }

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  /// Blocks that can be had: free ones and idle prefixes.
  [[nodiscard]] std::int64_t free() const { return free_.count() + prefixes_.idle_blocks(); }
  [[nodiscard]] std::int64_t used() const { return blocks_ - free(); }
  [[nodiscard]] int block_tokens() const { return static_cast<int>(block_tokens_); }

  [[nodiscard]] const PrefixTotals& prefix_totals() const { return prefix_totals_; }
  [[nodiscard]] const HostPool& host() const { return host_; }
  [[nodiscard]] HostTotals host_totals() const;
  /// What has to be copied for what was decided since the last call: before the blocks are written
  /// again, or read, the next step waits for it.
  [[nodiscard]] KvCopies take_copies() { return std::exchange(copies_, {}); }

 private:
  /// What start() and reserve() share.
  bool hold(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens,
            std::int64_t reserved_tokens);
  /// Until `wanted` blocks are free. Returns false and changes nothing if that many cannot be had.
  bool evict(std::int64_t wanted);
  /// The host has no room for it, or keeps it no longer.
  void leave_host(std::uint64_t hash, std::int64_t blocks);
  void leave_host(const std::vector<PrefixCache::Evicted>& chunks);
  void leave_gpu(std::uint64_t hash, std::int64_t blocks);
  void store(std::uint64_t hash, std::int64_t blocks);
  void publish(Sequence& sequence, std::int64_t tokens);
  /// The same where one chunk is new and goes behind the last one; false: changed nothing.
  bool publish_next(Sequence& sequence, std::int64_t tokens) {
    PublishedEnd& end = sequence.published;
    // The last of a run is left to publish(), which finds the next.
    if (end.left < 2 || tokens >= sequence.next_chunk_at + sequence.prefix_chunk_tokens ||
        listener_ != nullptr || store_ != nullptr ||
        !prefixes_.extend(end.segment, end.next_hash, end.blocks))
      return false;
    ++end.next_hash;
    --end.left;
    ++end.added;
    sequence.next_chunk_at += sequence.prefix_chunk_tokens;
    return true;
  }
  /// Counts what publish_next() added.
  static void settle_published(Sequence& sequence);
  [[nodiscard]] PrefixMatch match_swapped(const Sequence& sequence) const;
  void take_chunks(Sequence& sequence, std::size_t chunks);
  /// Copies chunks, which are pinned where they are, to the GPU.
  void fetch(std::span<const std::uint64_t> hashes, std::int64_t chunk_blocks);
  /// Chunks that the sequence has computed become findable, those that are not yet.
  void add_chunks(Sequence& sequence, PrefixRun run);
  void count_copies(KvCopies copies) {
    copies_ += copies;
    copies_total_ += copies;
  }

  std::int64_t blocks_;
  FreeBlocks free_;  // without idle prefixes
  std::int64_t block_tokens_;
  KvBeside beside_;
  bool shares_prefixes_;
  bool swaps_;
  PrefixCache prefixes_;
  HostPool host_;
  KvStore* store_;                      // may be null, may be others' too
  PrefixListener* listener_ = nullptr;  // may stay null
  PrefixTotals prefix_totals_;
  KvCopies copies_, copies_total_;
  std::int64_t swapped_ = 0;
};

}  // namespace foretoken
