// Prefixes that stay in the KV cache: what is found again, who holds it, and what goes first.

#include "sim/serving/prefix_cache.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "sim/base/random.hpp"
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
  EXPECT_EQ(cache.prefix_totals().computed.tokens_asked, 190);
  EXPECT_EQ(cache.prefix_totals().computed.tokens_found, 64);
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
  cache.add({7, 1}, 2);
  cache.give_back({7, 1});
  EXPECT_EQ(cache.idle_blocks(), 2);
  EXPECT_THROW(cache.give_back({7, 1}), InternalError);
  EXPECT_THROW(cache.take({7, 2}), InternalError) << "8 is not there";
  const PrefixCache::Evicted evicted = cache.evict(1);
  EXPECT_EQ(evicted.run.first, 7U);
  EXPECT_EQ(evicted.run.count, 1);
  EXPECT_EQ(evicted.blocks, 2);
  EXPECT_FALSE(cache.holds(7));
  EXPECT_THROW((void)cache.evict(1), InternalError);
}

TEST(PrefixCache, RunsGoFromTheirEnds) {
  PrefixCache cache;
  cache.add({250, 20}, 2);  // over the border of a page
  cache.give_back({250, 20});
  cache.add({1000, 2}, 2);
  cache.take({250, 10});
  cache.give_back({1000, 2});
  cache.give_back({250, 10});
  EXPECT_EQ(cache.idle_blocks(), 44);
  const PrefixCache::Evicted tail = cache.evict(100);
  EXPECT_EQ(tail.run.first, 260U) << "the run's first ten were used again";
  EXPECT_EQ(tail.run.count, 10);
  EXPECT_EQ(cache.find({250, 20}).chunks, 10);
  EXPECT_EQ(cache.evict(4).run.first, 1000U);
  const PrefixCache::Evicted one = cache.evict(1);
  EXPECT_EQ(one.run.first, 259U);
  EXPECT_EQ(one.run.count, 1);
}

TEST(PrefixCache, AddsUpToTheFirstChunkThatIsKnown) {
  PrefixCache cache;
  EXPECT_EQ(cache.add({260, 4}, 2), 4);
  EXPECT_EQ(cache.add({250, 20}, 2), 10) << "six in the page before and four in this one";
  EXPECT_EQ(cache.add({250, 20}, 2), 0);
  EXPECT_EQ(cache.add({264, 6}, 2), 6);
  EXPECT_EQ(cache.find({250, 21}).chunks, 20);
  cache.give_back({250, 20});
  EXPECT_EQ(cache.idle_blocks(), 40) << "each was added once";
}

/// The same chunk by chunk: users of each, and the idle ones in the order in which they go.
class ChunkByChunk {
 public:
  void add(std::uint64_t hash) { users_[hash] = 1; }
  void take(std::uint64_t hash) {
    if (users_[hash]++ == 0) std::erase(idle_, hash);
  }
  void give_back(std::uint64_t hash) {
    if (--users_[hash] == 0) idle_.push_back(hash);
  }
  void touch(std::uint64_t hash) {
    std::erase(idle_, hash);
    users_[hash] = 0;
    idle_.push_back(hash);
  }
  std::uint64_t evict_one() {
    const std::uint64_t hash = idle_.front();
    idle_.pop_front();
    users_.erase(hash);
    return hash;
  }
  [[nodiscard]] bool holds(std::uint64_t hash) const { return users_.contains(hash); }
  [[nodiscard]] int users(std::uint64_t hash) const { return users_.at(hash); }
  [[nodiscard]] std::size_t idle() const { return idle_.size(); }

 private:
  std::map<std::uint64_t, int> users_;
  std::deque<std::uint64_t> idle_;
};

TEST(PrefixCache, RunsAreUsedAsTheirChunksOneByOneWouldBe) {
  RandomStream random = RandomStreams(3).stream("runs");
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  PrefixCache cache;
  ChunkByChunk plain;
  std::vector<PrefixRun> held;
  int evictions = 0, shared = 0;
  for (int i = 0; i < 20'000; ++i) {
    // Three texts of up to 300 chunks, and chunks of their own.
    const bool is_alone = below(5) == 0;
    PrefixRun run{is_alone ? 5000 + 7 * below(40) : 1000 * below(3) + 200, 1};
    if (!is_alone) run.count = 1 + static_cast<std::int64_t>(below(300));
    const auto chunk = [&](std::int64_t k) { return run.first + static_cast<std::uint64_t>(k); };
    std::int64_t known = 0, idle = 0;
    for (; known < run.count && plain.holds(chunk(known)); ++known)
      idle += plain.users(chunk(known)) == 0;
    const PrefixCache::Found found = cache.find(run);
    ASSERT_EQ(found.chunks, known);
    ASSERT_EQ(found.blocks, 3 * known);
    ASSERT_EQ(found.idle_blocks, 3 * idle);
    switch (below(4)) {
      case 0:  // hold what is there
        if (known == 0) break;
        shared += idle < known;
        run.count = known;
        cache.take(run);
        for (std::int64_t k = 0; k < known; ++k) plain.take(chunk(k));
        held.push_back(run);
        break;
      case 1: {  // compute what follows
        const PrefixRun rest = run.behind(known);
        run = {rest.first, cache.add(rest, 3)};
        if (run.count == 0) break;
        for (std::int64_t k = 0; k < run.count; ++k) ASSERT_FALSE(plain.holds(chunk(k)));
        ASSERT_TRUE(run.count == rest.count || plain.holds(run.end()));
        for (std::int64_t k = 0; k < run.count; ++k) plain.add(chunk(k));
        held.push_back(run);
        break;
      }
      case 2:  // let go
        if (held.empty()) break;
        std::swap(held[below(held.size())], held.back());
        run = held.back();
        held.pop_back();
        cache.give_back(run);
        for (std::int64_t k = run.count; k-- > 0;) plain.give_back(chunk(k));
        break;
      case 3: {  // make room
        const auto wanted = static_cast<std::int64_t>(1 + below(400));
        for (std::int64_t freed = 0; freed < wanted && plain.idle() > 0;) {
          const PrefixCache::Evicted gone = cache.evict(wanted - freed);
          for (std::int64_t k = gone.run.count; k-- > 0; freed += 3, ++evictions)
            ASSERT_EQ(plain.evict_one(), gone.run.first + static_cast<std::uint64_t>(k));
          ASSERT_LT(freed, wanted + 3);
        }
        break;
      }
    }
    ASSERT_EQ(cache.idle_blocks(), 3 * static_cast<std::int64_t>(plain.idle()));
  }
  EXPECT_GT(evictions, 3'000);
  EXPECT_GT(shared, 500);
}

TEST(PrefixCache, TouchedRunsGoInTheOrderOfTheirLastUse) {
  RandomStream random = RandomStreams(4).stream("runs");
  PrefixCache cache;
  ChunkByChunk plain;
  for (int i = 0; i < 5'000; ++i) {
    const PrefixRun run{100 * (random() % 6), 1 + static_cast<std::int64_t>(random() % 250)};
    cache.touch(run, 1);
    for (std::int64_t k = run.count; k-- > 0;)
      plain.touch(run.first + static_cast<std::uint64_t>(k));
    while (cache.idle_blocks() > 400) {
      const PrefixCache::Evicted gone = cache.evict(cache.idle_blocks() - 400);
      for (std::int64_t k = gone.run.count; k-- > 0;)
        ASSERT_EQ(plain.evict_one(), gone.run.first + static_cast<std::uint64_t>(k));
    }
    ASSERT_EQ(cache.idle_blocks(), static_cast<std::int64_t>(plain.idle()));
  }
}

}  // namespace
}  // namespace foretoken::prefix_cache_test
