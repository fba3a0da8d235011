#include "sim/serving/kv_cache.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {

PrefixTotals& PrefixTotals::operator+=(const PrefixTotals& other) {
  tokens_asked += other.tokens_asked;
  tokens_found += other.tokens_found;
  tokens_found_host += other.tokens_found_host;
  tokens_found_store += other.tokens_found_store;
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

PrefixMatch KvCache::match_prefix(const Sequence& sequence) const {
  if (sequence.swapped_blocks > 0) return match_swapped(sequence);
  PrefixMatch match;
  if (!shares_prefixes_) return match;
  if (sequence.left_blocks > 0) {
    const std::int64_t useful = (sequence.known_tokens() - 1) / block_tokens_;
    match.blocks = match.idle_blocks = sequence.left_blocks;
    match.tokens = std::min(sequence.left_blocks, useful) * block_tokens_;
    return match;
  }
  const std::int64_t chunk_tokens = sequence.prefix_chunk_tokens;
  for (const std::uint64_t hash : sequence.prefix_hashes) {
    if (match.tokens + chunk_tokens >= sequence.known_tokens()) break;
    const PrefixCache::Chunk chunk = prefixes_.find(hash);
    if (chunk != PrefixCache::none) {
      match.blocks += prefixes_.blocks(chunk);
      if (prefixes_.is_idle(chunk)) match.idle_blocks += prefixes_.blocks(chunk);
    } else if (host_.holds(hash)) {
      match.host_blocks += chunk_tokens / block_tokens_;
      match.host_tokens += chunk_tokens;
    } else if (store_ != nullptr && !sequence.is_prefetched && store_->holds(hash)) {
      match.store_tokens += chunk_tokens;
    } else {
      break;
    }
    match.tokens += chunk_tokens;
    ++match.chunks;
  }
  return match;
}

/// The beginning may be on the GPU still; all that follows is copied back.
PrefixMatch KvCache::match_swapped(const Sequence& sequence) const {
  PrefixMatch match;
  match.tokens = sequence.swapped_tokens;
  std::int64_t tokens = 0;
  for (const std::uint64_t hash : sequence.prefix_hashes) {
    const PrefixCache::Chunk chunk = prefixes_.find(hash);
    tokens += sequence.prefix_chunk_tokens;
    if (!shares_prefixes_ || chunk == PrefixCache::none || tokens > match.tokens) break;
    match.blocks += prefixes_.blocks(chunk);
    if (prefixes_.is_idle(chunk)) match.idle_blocks += prefixes_.blocks(chunk);
    ++match.chunks;
  }
  match.host_blocks = sequence.swapped_blocks - match.blocks;
  return match;
}

/// The first `chunks` of a sequence's prefix become its own to use, those in other tiers as copies.
/// Blocks for these can be had.
void KvCache::take_chunks(Sequence& sequence, std::size_t chunks) {
  const std::int64_t chunk_blocks = sequence.prefix_chunk_tokens / block_tokens_;
  // Those on the GPU first: making room for the others must not evict them, nor may what comes to
  // the other tiers push those out that are to be copied.
  std::int64_t of_host = 0, of_store = 0;
  for (std::size_t i = 0; i < chunks; ++i) {
    const std::uint64_t hash = sequence.prefix_hashes[i];
    const PrefixCache::Chunk chunk = prefixes_.find(hash);
    sequence.chunks.push_back(chunk);
    if (chunk != PrefixCache::none) {
      prefixes_.take(chunk);
    } else if (host_.holds(hash)) {
      host_.pin(hash);
      of_host += chunk_blocks;
    } else {
      store_->pin(hash);
      of_store += chunk_blocks;
    }
  }
  if (const std::int64_t wanted = of_host + of_store; wanted > 0) {
    const bool any = evict(wanted);
    FORETOKEN_CHECK(any, "{} of {} KV blocks are free, {} are to be copied", free(), blocks_,
                    wanted);
    free_.take(wanted);
    count_copies({.from_host = of_host, .from_store = of_store});
    for (std::size_t i = 0; i < chunks; ++i) {
      if (sequence.chunks[i] != PrefixCache::none) continue;
      const std::uint64_t hash = sequence.prefix_hashes[i];
      const bool is_on_host = host_.holds(hash);
      is_on_host ? host_.unpin(hash) : store_->unpin(hash);
      if (listener_ != nullptr && !is_on_host) listener_->on_prefix_kept(hash);
      sequence.chunks[i] = prefixes_.add(hash, chunk_blocks);
    }
  }
  sequence.blocks = sequence.chunk_blocks = chunk_blocks * static_cast<std::int64_t>(chunks);
}

bool KvCache::start(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens,
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
  if (sequence.record.preemptions == 0) {
    const std::int64_t came = std::min(sequence.prefetched_tokens, match.host_tokens);
    prefix_totals_ +=
        {sequence.prompt_tokens, match.tokens, match.host_tokens - came, match.store_tokens + came};
  }
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

std::vector<std::uint64_t> KvCache::in_store(const Sequence& sequence) const {
  std::vector<std::uint64_t> found;
  if (!shares_prefixes_ || store_ == nullptr) return found;
  std::int64_t tokens = 0;
  for (const std::uint64_t hash : sequence.prefix_hashes) {
    tokens += sequence.prefix_chunk_tokens;
    if (tokens >= sequence.known_tokens()) break;
    if (prefixes_.find(hash) != PrefixCache::none || host_.holds(hash)) continue;
    if (!store_->holds(hash)) break;
    found.push_back(hash);
  }
  return found;
}

void KvCache::take_prefetched(std::uint64_t hash, std::int64_t blocks) {
  copies_total_ += {.prefetched = blocks};
  const bool is_on_gpu = prefixes_.find(hash) != PrefixCache::none;
  const bool is_new = host_.keep(hash, blocks);
  for (const PrefixCache::Evicted& chunk : host_.take_evicted()) leave_host(chunk);
  if (listener_ != nullptr && is_new && !is_on_gpu) listener_->on_prefix_kept(hash);
}

bool KvCache::evict(std::int64_t wanted) {
  if (wanted > free()) return false;
  while (free_.count() < wanted) {
    const PrefixCache::Evicted evicted = prefixes_.evict_one();
    free_.give_back(evicted.blocks);
    const bool was_on_host = host_.holds(evicted.hash);
    if (host_.keep(evicted.hash, evicted.blocks)) {
      count_copies({.to_host = evicted.blocks});
      for (const PrefixCache::Evicted& chunk : host_.take_evicted()) leave_host(chunk);
    } else if (!was_on_host) {
      leave_host(evicted);
    }
  }
  return true;
}

void KvCache::leave_host(const PrefixCache::Evicted& chunk) {
  const bool is_gone = prefixes_.find(chunk.hash) == PrefixCache::none;
  if (listener_ != nullptr && is_gone) listener_->on_prefix_gone(chunk.hash);
  store(chunk);
}

void KvCache::store(const PrefixCache::Evicted& chunk) {
  if (store_ != nullptr && store_->keep(chunk.hash, chunk.blocks))
    count_copies({.to_store = chunk.blocks});
}

void KvCache::publish(Sequence& sequence, std::int64_t tokens) {
  while (tokens >= sequence.next_chunk_at) {
    const std::uint64_t hash = sequence.prefix_hashes[sequence.next_chunk++];
    // Two sequences may compute one prefix at the same time; the second keeps its copy to itself.
    if (prefixes_.find(hash) == PrefixCache::none) {
      const std::int64_t blocks = sequence.prefix_chunk_tokens / block_tokens_;
      sequence.chunks.push_back(prefixes_.add(hash, blocks));
      sequence.chunk_blocks += blocks;
      if (listener_ != nullptr && !host_.holds(hash)) listener_->on_prefix_kept(hash);
      if (store_ != nullptr && store_->takes_what_is_computed()) store({hash, blocks});
    }
    const bool has_more = sequence.next_chunk < sequence.prefix_hashes.size();
    sequence.next_chunk_at =
        has_more ? sequence.next_chunk_at + sequence.prefix_chunk_tokens : Sequence::no_chunk;
  }
}

void KvCache::move_holding(Sequence& from, Sequence& to) {
  FORETOKEN_CHECK(to.blocks == 0 && to.chunks.empty(), "a sequence that holds {} KV blocks gets {}",
                  to.blocks, from.blocks);
  to.blocks = std::exchange(from.blocks, 0);
  to.chunk_blocks = std::exchange(from.chunk_blocks, 0);
  to.next_chunk = std::exchange(from.next_chunk, 0);
  to.next_chunk_at = std::exchange(from.next_chunk_at, Sequence::no_chunk);
  to.chunks.swap(from.chunks);
}

void KvCache::release(Sequence& sequence) {
  free_.disown(sequence);
  free_.give_back(sequence.blocks - sequence.chunk_blocks);
  // The last chunk first: it is then the first to go.
  for (auto chunk = sequence.chunks.rbegin(); chunk != sequence.chunks.rend(); ++chunk) {
    prefixes_.give_back(*chunk);
  }
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
      leaves ? std::min(sequence.blocks, sequence.computed / block_tokens_) : 0;
  sequence.blocks -= whole;
  release(sequence);
  free_.leave(sequence, whole);
  if (swaps) {
    for (const PrefixCache::Evicted& chunk : host_.take_evicted()) leave_host(chunk);
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
