// A request's prefix on its way from a store to the host's memory before it is the request's turn.
// It is asked for as a whole when the request comes, and comes in parts.
#include <algorithm>
#include <utility>

#include "sim/serving/replica.hpp"

namespace foretoken {
namespace {

/// Parts that a prefix comes in: how closely best_effort knows what has come (SGLang reads 128
/// pages at a time).
constexpr std::size_t parts_most = 8;

/// How many of `chunks` have come with each part.
std::vector<std::size_t> parts_of(std::size_t chunks) {
  const std::size_t parts = std::min(chunks, parts_most);
  std::vector<std::size_t> ends;
  for (std::size_t part = 1; part <= parts; ++part) ends.push_back(chunks * part / parts);
  return ends;
}

}  // namespace

Bytes Replica::block_of_rank() const {
  Bytes sum;
  for (std::size_t stage = 0; stage < stage_count(); ++stage) {
    const auto gpus = static_cast<double>(config_.stage_gpus[stage].size() / ranks_.size());
    sum += gpus * config_.kv_block[stage];
  }
  return sum;
}

/// Asks for all that the store has of it. Its requests come one after the other, so that nothing is
/// later than if it were read at once.
bool Replica::prefetch(Sequence& sequence) {
  KvStore* store = ranks_.store();
  if (store == nullptr || store->settings().prefetch == StorePrefetch::none) return false;
  sequence.is_prefetched = true;
  Prefetch prefetch{&sequence, sequence.record.id, ranks_.cache().in_store(sequence)};
  const std::size_t chunks = prefetch.hashes.size();
  if (chunks == 0) return false;
  const StorePrefetch policy = store->settings().prefetch;
  prefetch.is_waiting = policy != StorePrefetch::best_effort;
  prefetch.chunk_blocks = sequence.prefix_chunk_tokens / ranks_.cache().block_tokens();
  std::size_t number = prefetches_.size();
  if (free_prefetches_.empty()) {
    prefetches_.emplace_back();
  } else {
    number = free_prefetches_.back();
    free_prefetches_.pop_back();
  }
  const Bytes chunk = static_cast<double>(prefetch.chunk_blocks) * block_of_rank();
  std::size_t asked = 0;
  for (const std::size_t until : parts_of(chunks)) {
    const Seconds date =
        store->read(platform_.now(), static_cast<double>(until - asked) * chunk, codec_free_at_);
    platform_.at(date, *this, tag(EventKind::prefetched, number, 0));
    ++prefetch.events_open;
    asked = until;
  }
  if (policy == StorePrefetch::timeout) {
    platform_.at(platform_.now() + store->settings().prefetch_timeout, *this,
                 tag(EventKind::prefetch_is_due, number, 0));
    ++prefetch.events_open;
  }
  prefetches_[number] = std::move(prefetch);
  return prefetches_[number].is_waiting;
}

void Replica::take_prefetched(std::size_t number) {
  Prefetch& prefetch = prefetches_[number];
  const std::vector<std::size_t> parts = parts_of(prefetch.hashes.size());
  const std::size_t until = *std::ranges::upper_bound(parts, prefetch.come);
  for (; prefetch.come < until; ++prefetch.come)
    ranks_.cache().take_prefetched(prefetch.hashes[prefetch.come], prefetch.chunk_blocks);
  Sequence& sequence = *prefetch.sequence;
  if (!sequence.has_ended && sequence.record.id == prefetch.id) {
    sequence.prefetched_tokens =
        static_cast<std::int64_t>(prefetch.come) * sequence.prefix_chunk_tokens;
  }
  end_prefetch_event(number, prefetch.come == prefetch.hashes.size());
}

/// The place is free behind the last event, so that none meets another prefetch there.
void Replica::end_prefetch_event(std::size_t number, bool waits_no_longer) {
  Prefetch& prefetch = prefetches_[number];
  if (--prefetch.events_open == 0) free_prefetches_.push_back(number);
  if (!waits_no_longer || !std::exchange(prefetch.is_waiting, false)) return;
  queue(*prefetch.sequence);
}

std::int64_t Replica::waiting_for_store() const {
  return std::ranges::count_if(prefetches_, &Prefetch::is_waiting);
}

}  // namespace foretoken
