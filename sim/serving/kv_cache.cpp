#include "sim/serving/kv_cache.hpp"

#include <algorithm>

namespace foretoken {

KvCache::KvCache(std::int64_t blocks, int block_tokens, bool shares_prefixes)
    : blocks_(blocks),
      free_(blocks),
      block_tokens_(block_tokens),
      shares_prefixes_(shares_prefixes) {
  FORETOKEN_CHECK(blocks > 0 && block_tokens > 0, "a KV cache of {} blocks of {} tokens", blocks,
                  block_tokens);
}

PrefixMatch KvCache::match_prefix(const Sequence& sequence) const {
  PrefixMatch match;
  if (!shares_prefixes_) return match;
  const std::int64_t chunk_tokens = sequence.prefix_chunk_tokens;
  for (const std::uint64_t hash : sequence.prefix_hashes) {
    if (match.tokens + chunk_tokens >= sequence.known_tokens()) break;
    const PrefixCache::Chunk chunk = prefixes_.find(hash);
    if (chunk == PrefixCache::none) break;
    match.tokens += chunk_tokens;
    ++match.chunks;
    match.blocks += prefixes_.blocks(chunk);
    if (prefixes_.is_idle(chunk)) match.idle_blocks += prefixes_.blocks(chunk);
  }
  return match;
}

bool KvCache::start(Sequence& sequence, const PrefixMatch& match, std::int64_t tokens,
                    std::int64_t reserved_tokens) {
  FORETOKEN_CHECK(reserved_tokens >= tokens, "{} tokens reserved for {}", reserved_tokens, tokens);
  FORETOKEN_CHECK(sequence.blocks == 0 && sequence.chunks.empty(),
                  "a sequence that holds {} KV blocks starts again", sequence.blocks);
  // What the prefix takes out of the idle ones cannot be evicted for the rest.
  const std::int64_t extra = blocks_for(reserved_tokens) - match.blocks;
  if (extra > free() - match.idle_blocks) return false;
  for (std::size_t i = 0; i < match.chunks; ++i) {
    const PrefixCache::Chunk chunk = prefixes_.find(sequence.prefix_hashes[i]);
    prefixes_.take(chunk);
    sequence.chunks.push_back(chunk);
  }
  sequence.blocks = sequence.chunk_blocks = match.blocks;
  sequence.next_chunk = match.chunks;
  const bool has_more = shares_prefixes_ && match.chunks < sequence.prefix_hashes.size();
  sequence.next_chunk_at =
      has_more ? match.tokens + sequence.prefix_chunk_tokens : Sequence::no_chunk;
  if (sequence.record.preemptions == 0) {
    prefix_totals_.tokens_asked += sequence.prompt_tokens;
    prefix_totals_.tokens_found += match.tokens;
  }
  if (extra > 0) {
    const bool is_had = extra <= free_ || evict(extra);
    FORETOKEN_CHECK(is_had, "{} of {} KV blocks are free, but {} could not be had", free(), blocks_,
                    extra);
    free_ -= extra;
    sequence.blocks += extra;
  }
  if (tokens >= sequence.next_chunk_at) publish(sequence, tokens);
  return true;
}

bool KvCache::evict(std::int64_t wanted) {
  if (wanted > free()) return false;
  while (free_ < wanted) free_ += prefixes_.evict_one();
  return true;
}

void KvCache::publish(Sequence& sequence, std::int64_t tokens) {
  while (tokens >= sequence.next_chunk_at) {
    const std::uint64_t hash = sequence.prefix_hashes[sequence.next_chunk++];
    // Two sequences may compute one prefix at the same time; the second keeps its copy to itself.
    if (prefixes_.find(hash) == PrefixCache::none) {
      const std::int64_t blocks = sequence.prefix_chunk_tokens / block_tokens_;
      sequence.chunks.push_back(prefixes_.add(hash, blocks));
      sequence.chunk_blocks += blocks;
    }
    const bool has_more = sequence.next_chunk < sequence.prefix_hashes.size();
    sequence.next_chunk_at =
        has_more ? sequence.next_chunk_at + sequence.prefix_chunk_tokens : Sequence::no_chunk;
  }
}

void KvCache::release(Sequence& sequence) {
  free_ += sequence.blocks - sequence.chunk_blocks;
  // The last chunk first: it is then the first to go.
  for (auto chunk = sequence.chunks.rbegin(); chunk != sequence.chunks.rend(); ++chunk) {
    prefixes_.give_back(*chunk);
  }
  sequence.chunks.clear();
  sequence.blocks = sequence.chunk_blocks = 0;
  sequence.next_chunk = 0;
  sequence.next_chunk_at = Sequence::no_chunk;
  FORETOKEN_CHECK(free() <= blocks_, "{} free of {} KV blocks", free(), blocks_);
}

}  // namespace foretoken
