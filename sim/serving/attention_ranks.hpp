// The engines of a replica's attention ranks: each has a scheduler and a KV cache of its own, and a
// sequence stays on the rank that took it. Without data parallel attention there is one.
// Everything here is a sum over the ranks or a choice among them; when they step is the replica's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/serving/scheduler.hpp"

namespace foretoken {

class AttentionRanks {
 public:
  AttentionRanks() = default;
  /// `store` is what the ranks' caches have behind them; null: nothing. `is_apart`: other replicas
  /// compute the prompts of these, or the tokens behind them.
  explicit AttentionRanks(std::shared_ptr<KvStore> store, bool is_apart = false)
      : store_(std::move(store)), is_apart_(is_apart) {}

  /// Adds a rank. `scheduler` works on `cache` and `images` (null: no request has any).
  void add(std::unique_ptr<KvCache> cache, std::unique_ptr<Scheduler> scheduler,
           std::unique_ptr<EncoderCache> images = nullptr);

  /// Tells `listener`, which must outlive the ranks, what prefixes their caches find from now on,
  /// each rank's by itself.
  void tell(PrefixListener* listener);

  /// Whether a rank's cache could hold a sequence of `tokens` alone.
  [[nodiscard]] bool can_hold(std::int64_t tokens) const;
  /// Whether its whole length can be held and the scheduler takes it.
  [[nodiscard]] bool can_serve(const Sequence& sequence) const;
  /// How many wait at the rank that request `id` would go to now.
  [[nodiscard]] std::int64_t queue_length(RequestId id) const;

  /// The sequence waits at the rank that its scheduler's RankChoice names.
  void enqueue(Sequence& sequence);
  void remove(Sequence& sequence);

  /// Takes a slot and blocks for `sequence`, as many as its scheduler asks of one that joins, on
  /// the rank with most free blocks among those with a slot, behind those that wait for blocks
  /// there. Returns the tokens of its prompt that are in the cache already, or nothing if slots or
  /// blocks are short.
  std::optional<std::int64_t> reserve(Sequence& sequence);
  /// The tokens that `sequence` has reserved blocks for are there: it runs as soon as it can.
  void join(Sequence& sequence);
  /// Nobody computes for `sequence` any more, but it keeps its blocks until remove().
  void retire(Sequence& sequence);
  /// How many of these there are.
  [[nodiscard]] std::int64_t retired() const { return std::ssize(retired_); }

  /// Fills each rank's batch, all empty on entry. Returns whether any has work.
  bool next_batches(Seconds now, std::span<Batch> batches);

  [[nodiscard]] std::size_t size() const { return ranks_.size(); }
  [[nodiscard]] std::int64_t waiting() const;
  [[nodiscard]] std::int64_t running() const;
  [[nodiscard]] std::int64_t blocks_used() const;
  [[nodiscard]] std::int64_t blocks() const;
  /// A rank finds the prefixes of its own sequences only.
  [[nodiscard]] PrefixTotals prefix_totals() const;
  [[nodiscard]] HostTotals host_totals() const;
  /// What a rank's next step has to copy: KvCache::take_copies().
  [[nodiscard]] KvCopies take_copies(std::size_t rank) { return ranks_[rank].cache->take_copies(); }

  /// A step has computed the first `tokens` of `sequence`: it needs their images no more.
  void pass_media(Sequence& sequence, std::int64_t tokens);
  [[nodiscard]] EncoderTotals encoder_totals() const;

  [[nodiscard]] KvStore* store() { return store_.get(); }
  /// Of all ranks, one after the other: KvCache::idle_prefixes().
  [[nodiscard]] std::vector<PrefixCache::Evicted> idle_prefixes() const;
  /// Of the first rank; with several, nothing is prefetched.
  [[nodiscard]] KvCache& cache() { return *ranks_.front().cache; }

 private:
  struct Rank {
    std::unique_ptr<KvCache> cache;
    std::unique_ptr<EncoderCache> images;
    std::unique_ptr<Scheduler> scheduler;
    std::vector<const Sequence*> arriving = {};  // with a slot that they do not run in yet
    std::vector<const Sequence*> held = {};      // all, where ranks are chosen by their tokens
  };
  [[nodiscard]] std::size_t least_waiting() const;
  [[nodiscard]] std::size_t fewest_tokens() const;
  [[nodiscard]] std::size_t chosen(RequestId id) const;
  [[nodiscard]] RankChoice choice() const { return ranks_.front().scheduler->rank_choice(); }
  void count(const Sequence& sequence);
  void discount(const Sequence& sequence);
  /// Whether the prompts that wait may begin now: all ranks have one and a slot for it, or some
  /// rank has nothing to decode.
  [[nodiscard]] bool all_can_begin() const;
  [[nodiscard]] bool any_is_idle() const;
  std::shared_ptr<KvStore> store_;
  bool is_apart_ = false;
  std::uint64_t turns_ = 0;
  std::vector<Rank> ranks_;
  std::vector<const Sequence*> retired_;
  int held_steps_ = 0;
};

}  // namespace foretoken
