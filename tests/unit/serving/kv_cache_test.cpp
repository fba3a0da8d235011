#include "sim/serving/kv_cache.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(KvCache, GrowsBlockByBlockAndGivesAllBack) {
  KvCache cache(10, 16);
  Sequence sequence;
  EXPECT_TRUE(cache.grow(sequence, 1));
  EXPECT_EQ(sequence.blocks, 1);
  EXPECT_TRUE(cache.grow(sequence, 16));
  EXPECT_EQ(cache.used(), 1);
  EXPECT_TRUE(cache.grow(sequence, 17));
  EXPECT_EQ(cache.used(), 2);
  cache.release(sequence);
  EXPECT_EQ(cache.free(), 10);
  EXPECT_EQ(sequence.blocks, 0);
}

TEST(KvCache, RefusesWithoutChangingAnythingWhenBlocksAreShort) {
  KvCache cache(2, 16);
  Sequence a, b;
  EXPECT_TRUE(cache.grow(a, 20));
  EXPECT_FALSE(cache.grow(b, 1));
  EXPECT_EQ(b.blocks, 0);
  EXPECT_EQ(cache.free(), 0);
}

TEST(KvCache, NoticesBlocksThatComeFromNowhere) {
  KvCache cache(2, 16);
  Sequence sequence;
  sequence.blocks = 1;
  EXPECT_THROW(cache.release(sequence), InternalError);
}

// A state of two and a half blocks, and a window of 32 tokens that takes half a block for each 16.
TEST(KvCache, SequencesHoldStatesAndWindowsBesideTheirTokens) {
  const KvBeside beside{.state_blocks = 2.5, .windows = {{32, 0.5 / 16}}};
  EXPECT_EQ(beside.blocks(0), 0);
  EXPECT_EQ(beside.blocks(1), 3);
  EXPECT_EQ(beside.blocks(16), 3);
  EXPECT_EQ(beside.blocks(32), 4);
  EXPECT_EQ(beside.blocks(1'000'000), 4);
  KvCache cache(12, 16, false, {}, beside);
  EXPECT_EQ(cache.blocks_for(16), 1 + 3);
  Sequence sequence;
  sequence.prompt_tokens = 32;
  ASSERT_TRUE(cache.start(sequence, {}, 32));
  EXPECT_EQ(cache.used(), 2 + 4);
  ASSERT_TRUE(cache.grow(sequence, 100));  // seven blocks of tokens; the window moves on
  EXPECT_EQ(cache.used(), 7 + 4);
  EXPECT_FALSE(cache.grow(sequence, 129));
  cache.release(sequence);
  EXPECT_EQ(cache.used(), 0);
}

}  // namespace
}  // namespace foretoken
