#include "sim/serving/kv_cache.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {

namespace {

/// What a sequence that starts with `match` adds.
PrefixCounts counts_of(const Sequence& sequence, const PrefixMatch& match) {
  if (sequence.record.preemptions > 0) return {};
  const std::int64_t came = std::min(sequence.prefetched_tokens, match.host_tokens);
  return {sequence.prompt_tokens, match.tokens, match.host_tokens - came,
          match.store_tokens + came};
}

}  // namespace

PrefixCounts& PrefixCounts::operator+=(const PrefixCounts& other) {
  tokens_asked += other.tokens_asked;
  tokens_found += other.tokens_found;
  tokens_found_host += other.tokens_found_host;
  tokens_found_store += other.tokens_found_store;
  return *this;
}

PrefixCounts PrefixTotals::all() const {
  PrefixCounts sum = computed;
  return sum += received;
}

PrefixTotals& PrefixTotals::operator+=(const PrefixTotals& other) {
  computed += other.computed;
  received += other.received;
  return *this;
}

KvCopies& KvCopies::operator+=(const KvCopies& other) {
  to_host += other.to_host;
  from_host += other.from_host;
  to_store += other.to_store;
  from_store += other.from_store;
  prefetched += other.prefetched;
  return *this;
}

HostTotals& HostTotals::operator+=(const HostTotals& other) {
  blocks += other.blocks;
  used_peak += other.used_peak;
  copies += other.copies;
  swapped += other.swapped;
  return *this;
}

KvCache::KvCache(std::int64_t blocks, int block_tokens, bool shares_prefixes, HostKv host,
                 KvBeside beside, KvStore* store)
    : blocks_(blocks),
      free_(blocks),
      block_tokens_(block_tokens),
      beside_(std::move(beside)),
      shares_prefixes_(shares_prefixes),
      swaps_(host.swaps),
      host_(host.blocks),
      store_(store) {
  FORETOKEN_CHECK(blocks > 0 && block_tokens > 0, "a KV cache of {} blocks of {} tokens", blocks,
                  block_tokens);
}

PrefixMatch KvCache::match_prefix(const Sequence& sequence, bool store) const {
  if (sequence.swapped_blocks > 0) return match_swapped(sequence);
  PrefixMatch match;
  if (!shares_prefixes_) return match;
  if (sequence.left_blocks > 0) {
    const std::int64_t useful = (sequence.known_tokens() - 1) / block_tokens_;
    match.blocks = match.idle_blocks = sequence.left_blocks;
    match.tokens = std::min(sequence.left_blocks, useful) * block_tokens_;
    return match;
  }
  if (sequence.prefix_hashes.empty()) return match;
  const std::int64_t chunk_tokens = sequence.prefix_chunk_tokens;
  const std::int64_t useful = (sequence.known_tokens() - 1) / chunk_tokens;
  for (PrefixRun run : sequence.prefix_hashes.first(useful)) {
    while (run.count > 0) {
      std::int64_t chunks = 1;
      if (const PrefixCache::Found found = prefixes_.find(run); found.chunks > 0) {
        chunks = found.chunks;
        match.blocks += found.blocks;
        match.idle_blocks += found.idle_blocks;
      } else if (host_.holds(run.first)) {
        match.host_blocks += chunk_tokens / block_tokens_;
        match.host_tokens += chunk_tokens;
      } else if (store && store_ != nullptr && !sequence.is_prefetched &&
                 store_->holds(run.first)) {
        match.store_tokens += chunk_tokens;
      } else {
        return match;
      }
      match.tokens += chunks * chunk_tokens;
      match.chunks += static_cast<std::size_t>(chunks);
      run = run.behind(chunks);
    }
  }
  return match;
}

/// The beginning may be on the GPU still; all that follows is copied back.
PrefixMatch KvCache::match_swapped(const Sequence& sequence) const {
  PrefixMatch match;
  match.tokens = sequence.swapped_tokens;
  if (shares_prefixes_ && !sequence.prefix_hashes.empty()) {
    const std::int64_t swapped = match.tokens / sequence.prefix_chunk_tokens;
    for (const PrefixRun run : sequence.prefix_hashes.first(swapped)) {
      const PrefixCache::Found found = prefixes_.find(run);
      match.blocks += found.blocks;
      match.idle_blocks += found.idle_blocks;
      match.chunks += static_cast<std::size_t>(found.chunks);
      if (found.chunks < run.count) break;
    }
  }
  match.host_blocks = sequence.swapped_blocks - match.blocks;
  return match;
}

/// The first `chunks` of a sequence's prefix become its own to use, those in other tiers as copies.
/// Blocks for these can be had.
void KvCache::take_chunks(Sequence& sequence, std::size_t chunks) {
  sequence.prefix_hashes.first(static_cast<std::int64_t>(chunks)).append_to(sequence.chunks);
  // Those on the GPU first: making room for the others must not evict them, nor may what comes to
  // the other tiers push those out that are to be copied.
  std::vector<std::uint64_t> elsewhere;
  for (PrefixRun run : sequence.chunks) {
    while (run.count > 0) {
      std::int64_t taken = prefixes_.find(run).chunks;
      if (taken > 0) {
        prefixes_.take({run.first, taken});
      } else {
        host_.holds(run.first) ? host_.pin(run.first) : store_->pin(run.first);
        elsewhere.push_back(run.first);
        taken = 1;
      }
      run = run.behind(taken);
    }
  }
  const std::int64_t chunk_blocks = sequence.prefix_chunk_tokens / block_tokens_;
  if (!elsewhere.empty()) fetch(elsewhere, chunk_blocks);
  sequence.blocks = sequence.chunk_blocks = chunk_blocks * static_cast<std::int64_t>(chunks);
}

bool KvCache::start(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens,
                    std::int64_t reserved_tokens) {
  const bool holds = hold(sequence, match, tokens, reserved_tokens);
  if (holds) prefix_totals_.computed += counts_of(sequence, match);
  return holds;
}

bool KvCache::reserve(Sequence& sequence, const PrefixMatch& match, std::int64_t reserved_tokens) {
  const bool holds = hold(sequence, match, match.tokens, reserved_tokens);
  if (holds) prefix_totals_.received += counts_of(sequence, match);
  return holds;
}

bool KvCache::hold(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens,
                   std::int64_t reserved_tokens) {
  FORETOKEN_CHECK(reserved_tokens >= tokens, "{} tokens reserved for {}", reserved_tokens, tokens);
  FORETOKEN_CHECK(sequence.blocks == 0 && sequence.chunks.empty(),
                  "a sequence that holds {} KV blocks starts again", sequence.blocks);
  // What the prefix takes out of the idle ones cannot be evicted for the rest.
  const std::int64_t wanted =
      blocks_for(std::max(reserved_tokens, sequence.tokens_with_room(tokens)));
  const std::int64_t extra = wanted - match.blocks;
  if (extra > free() - match.idle_blocks) return false;
  const std::int64_t left = sequence.left_blocks;
  free_.reclaim(sequence);
  sequence.blocks = left;
  if (match.chunks > 0) take_chunks(sequence, match.chunks);
  sequence.next_chunk = match.chunks;
  const bool has_more = shares_prefixes_ && match.chunks < sequence.prefix_hashes.size();
  sequence.next_chunk_at =
      has_more ? static_cast<std::int64_t>(match.chunks + 1) * sequence.prefix_chunk_tokens
               : Sequence::no_chunk;
  if (sequence.swapped_blocks > 0) {
    count_copies({.from_host = match.host_blocks});
    host_.give_back(std::exchange(sequence.swapped_blocks, 0));
    sequence.swapped_tokens = 0;
  }
  if (const std::int64_t rest = wanted - sequence.blocks; rest > 0) {
    const bool is_had = rest <= free_.count() || evict(rest);
    FORETOKEN_CHECK(is_had, "{} of {} KV blocks are free, but {} could not be had", free(), blocks_,
                    rest);
    free_.take(rest);
    sequence.blocks += rest;
  }
  if (tokens >= sequence.next_chunk_at) publish(sequence, tokens);
  return true;
}

void KvCache::publish(Sequence& sequence, std::int64_t tokens) {
  settle_published(sequence);
  const std::int64_t chunk_tokens = sequence.prefix_chunk_tokens;
  const auto next = static_cast<std::int64_t>(sequence.next_chunk);
  const auto known = static_cast<std::int64_t>(sequence.prefix_hashes.size());
  const std::int64_t until = std::min(tokens / chunk_tokens, known);
  for (const PrefixRun run : sequence.prefix_hashes.part(next, until)) add_chunks(sequence, run);
  sequence.next_chunk = static_cast<std::size_t>(until);
  sequence.next_chunk_at = until < known ? (until + 1) * chunk_tokens : Sequence::no_chunk;
  const bool goes_on = until > next && until < known && !sequence.chunks.empty();
  const PrefixRun rest = goes_on ? *sequence.prefix_hashes.part(until, known).begin() : PrefixRun();
  if (goes_on && sequence.chunks.back().end() == rest.first) {
    sequence.published = {rest.first, static_cast<std::uint32_t>(rest.count),
                          prefixes_.last_added(), 0,
                          static_cast<std::uint32_t>(chunk_tokens / block_tokens_)};
  }
}

void KvCache::settle_published(Sequence& sequence) {
  const PublishedEnd end = std::exchange(sequence.published, {});
  if (end.added == 0) return;
  sequence.chunks.back().count += end.added;
  sequence.chunk_blocks += std::int64_t{end.added} * end.blocks;
  sequence.next_chunk += end.added;
}

/// Two sequences may compute one prefix at the same time; the second keeps its copy to itself.
void KvCache::add_chunks(Sequence& sequence, PrefixRun run) {
  const std::int64_t blocks = sequence.prefix_chunk_tokens / block_tokens_;
  while (run.count > 0) {
    const PrefixRun news{run.first, prefixes_.add(run, blocks)};
    if (news.count > 0) {
      const bool goes_on = !sequence.chunks.empty() && sequence.chunks.back().end() == news.first;
      goes_on ? void(sequence.chunks.back().count += news.count) : sequence.chunks.push_back(news);
      sequence.chunk_blocks += blocks * news.count;
    }
    for (std::int64_t i = 0; i < news.count; ++i) {
      const std::uint64_t hash = news.first + static_cast<std::uint64_t>(i);
      if (listener_ != nullptr && !host_.holds(hash)) listener_->on_prefix_kept(hash);
      if (store_ != nullptr && store_->takes_what_is_computed()) store(hash, blocks);
    }
    run = run.behind(news.count);
    run = run.behind(prefixes_.find(run).chunks);
  }
}

void KvCache::move_holding(Sequence& from, Sequence& to) {
  FORETOKEN_CHECK(to.blocks == 0 && to.chunks.empty(), "a sequence that holds {} KV blocks gets {}",
                  to.blocks, from.blocks);
  settle_published(from);
  to.blocks = std::exchange(from.blocks, 0);
  to.chunk_blocks = std::exchange(from.chunk_blocks, 0);
  to.next_chunk = std::exchange(from.next_chunk, 0);
  to.next_chunk_at = std::exchange(from.next_chunk_at, Sequence::no_chunk);
  to.chunks.swap(from.chunks);
}

void KvCache::release(Sequence& sequence) {
  settle_published(sequence);
  free_.disown(sequence);
  free_.give_back(sequence.blocks - sequence.chunk_blocks);
  // The last chunk first: it is then the first to go.
  for (auto run = sequence.chunks.rbegin(); run != sequence.chunks.rend(); ++run)
    prefixes_.give_back(*run);
  sequence.chunks.clear();
  sequence.blocks = sequence.chunk_blocks = 0;
  sequence.next_chunk = 0;
  sequence.next_chunk_at = Sequence::no_chunk;
  host_.give_back(std::exchange(sequence.swapped_blocks, 0));
  sequence.swapped_tokens = 0;
  FORETOKEN_CHECK(free() <= blocks_, "{} free of {} KV blocks", free(), blocks_);
}

void KvCache::preempt(Sequence& sequence) {
  FORETOKEN_CHECK(sequence.steps_in_flight == 0, "a sequence in {} steps is preempted",
                  sequence.steps_in_flight);
  const std::int64_t blocks = blocks_for(sequence.computed);  // without those only reserved
  const bool swaps = swaps_ && blocks > 0 && host_.reserve(blocks);
  // Only whole blocks can be found again, where prefixes are shared.
  const bool leaves = !swaps && shares_prefixes_ && sequence.chunks.empty();
  const std::int64_t whole =
      leaves ? std::min<std::int64_t>(sequence.blocks, sequence.computed / block_tokens_) : 0;
  sequence.blocks -= whole;
  release(sequence);
  free_.leave(sequence, whole);
  if (swaps) {
    leave_host(host_.take_evicted());
    count_copies({.to_host = blocks});
    ++swapped_;
    sequence.swapped_blocks = blocks;
    sequence.swapped_tokens = sequence.computed;
  }
  sequence.computed = 0;
  ++sequence.record.preemptions;
}

HostTotals KvCache::host_totals() const {
  return {host_.blocks(), host_.used_peak(), copies_total_, swapped_};
}

}  // namespace foretoken
