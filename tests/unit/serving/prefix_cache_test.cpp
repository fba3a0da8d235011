// Prefixes that stay in the KV cache: what is found again, who holds it, and what goes first.

#include "sim/serving/prefix_cache.hpp"

#include <gtest/gtest.h>

#include "sim/serving/kv_cache.hpp"

namespace foretoken::prefix_cache_test {
namespace {

/// Chunks of 32 tokens, which are 2 blocks of 16.
Sequence sequence_of(std::int64_t prompt_tokens, std::vector<std::uint64_t> hashes) {
  Sequence sequence;
  sequence.prompt_tokens = prompt_tokens;
  sequence.output_tokens = 8;
  sequence.prefix_hashes = std::move(hashes);
  sequence.prefix_chunk_tokens = 32;
  return sequence;
}

/// As a scheduler does: from behind what is cached, all at once. Returns the tokens found.
std::int64_t start(KvCache& cache, Sequence& sequence) {
  const PrefixMatch match = cache.match_prefix(sequence);
  EXPECT_TRUE(cache.start(sequence, match, sequence.prompt_tokens));
  return match.tokens;
}

TEST(PrefixSharing, FindsWholeChunksOfAnEqualBeginning) {
  KvCache cache(20, 16, true);
  Sequence first = sequence_of(100, {1, 2, 3});
  EXPECT_EQ(start(cache, first), 0);
  EXPECT_EQ(cache.used(), 7);  // 100 tokens
  Sequence second = sequence_of(90, {1, 2, 9});
  EXPECT_EQ(start(cache, second), 64);
  EXPECT_EQ(second.blocks, 6);
  EXPECT_EQ(cache.used(), 9);  // 4 of its 6 blocks are the first one's
  cache.release(first);
  EXPECT_EQ(cache.used(), 6);
  cache.release(second);
  EXPECT_EQ(cache.used(), 0);
  EXPECT_EQ(cache.free(), 20);
  EXPECT_EQ(cache.prefix_totals().tokens_asked, 190);
  EXPECT_EQ(cache.prefix_totals().tokens_found, 64);
}

TEST(PrefixSharing, LeavesAtLeastOneTokenToCompute) {
  KvCache cache(20, 16, true);
  Sequence first = sequence_of(64, {1, 2});
  start(cache, first);
  Sequence same = sequence_of(64, {1, 2});
  EXPECT_EQ(start(cache, same), 32);
  Sequence longer = sequence_of(65, {1, 2});
  EXPECT_EQ(start(cache, longer), 64);
}

TEST(PrefixSharing, AChunkIsFoundOnceItIsComputedWhole) {
  KvCache cache(20, 16, true);
  Sequence first = sequence_of(100, {1, 2, 3});
  EXPECT_TRUE(cache.start(first, {}, 63));
  Sequence second = sequence_of(100, {1, 2, 3});
  EXPECT_EQ(cache.match_prefix(second).tokens, 32);
  EXPECT_TRUE(cache.grow(first, 64));
  EXPECT_EQ(cache.match_prefix(second).tokens, 64);
}

TEST(PrefixSharing, TheSecondOfTwoThatComputeTheSameKeepsItsCopyToItself) {
  KvCache cache(20, 16, true);
  Sequence first = sequence_of(40, {1}), second = sequence_of(40, {1});
  EXPECT_TRUE(cache.start(first, cache.match_prefix(first), 16));
  EXPECT_TRUE(cache.start(second, cache.match_prefix(second), 16));
  EXPECT_TRUE(cache.grow(first, 40));
  EXPECT_TRUE(cache.grow(second, 40));
  EXPECT_EQ(cache.used(), 6);
  cache.release(second);
  EXPECT_EQ(cache.used(), 3);
  Sequence third = sequence_of(40, {1});
  EXPECT_EQ(start(cache, third), 32);
}

TEST(PrefixSharing, WhatIsUnusedLongestGoesFirstFromItsEnd) {
  KvCache cache(8, 16, true);
  Sequence old = sequence_of(64, {1, 2}), recent = sequence_of(64, {5, 6});
  start(cache, old);
  cache.release(old);
  start(cache, recent);
  cache.release(recent);
  Sequence other = sequence_of(20, {});
  EXPECT_TRUE(cache.start(other, {}, 20));  // 2 blocks: chunk 2 has to go
  EXPECT_EQ(cache.match_prefix(sequence_of(100, {1, 2})).tokens, 32);
  EXPECT_TRUE(cache.grow(other, 50));  // 2 more: chunk 1
  EXPECT_EQ(cache.match_prefix(sequence_of(100, {1, 2})).tokens, 0);
  EXPECT_EQ(cache.match_prefix(sequence_of(100, {5, 6})).tokens, 64);
}

TEST(PrefixSharing, APrefixInUseCannotGoAndAFailedStartChangesNothing) {
  KvCache cache(6, 16, true);
  Sequence held = sequence_of(64, {1, 2});
  start(cache, held);
  Sequence large = sequence_of(60, {});
  EXPECT_FALSE(cache.start(large, {}, 60));
  EXPECT_EQ(large.blocks, 0);
  // An idle prefix that is about to be used is no room for the rest of the same prompt.
  cache.release(held);
  Sequence again = sequence_of(112, {1, 2, 3});
  const PrefixMatch match = cache.match_prefix(again);
  EXPECT_EQ(match.idle_blocks, 4);
  EXPECT_FALSE(cache.start(again, match, 112));  // 3 more blocks, 2 are free
  EXPECT_TRUE(again.chunks.empty());
  EXPECT_EQ(cache.used(), 0);
  EXPECT_TRUE(cache.start(again, match, 96));
  EXPECT_EQ(cache.used(), 6);
}

TEST(PrefixSharing, IsOffUnlessAskedFor) {
  KvCache cache(20, 16);
  Sequence first = sequence_of(100, {1, 2, 3}), second = sequence_of(100, {1, 2, 3});
  EXPECT_EQ(start(cache, first), 0);
  EXPECT_EQ(start(cache, second), 0);
  EXPECT_EQ(cache.used(), 14);
}

TEST(PrefixCache, NoticesUsersThatNeverTook) {
  PrefixCache cache;
  const PrefixCache::Chunk chunk = cache.add(7, 2);
  cache.give_back(chunk);
  EXPECT_EQ(cache.idle_blocks(), 2);
  EXPECT_THROW(cache.give_back(chunk), InternalError);
  const PrefixCache::Evicted evicted = cache.evict_one();
  EXPECT_EQ(evicted.hash, 7U);
  EXPECT_EQ(evicted.blocks, 2);
  EXPECT_EQ(cache.find(7), PrefixCache::none);
  EXPECT_THROW((void)cache.evict_one(), InternalError);
}

}  // namespace
}  // namespace foretoken::prefix_cache_test
