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

}  // namespace
}  // namespace foretoken
