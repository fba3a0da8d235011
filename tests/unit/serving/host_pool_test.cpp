// The host's room for KV blocks: who goes first, who stays, and that it is never overfilled.

#include "sim/serving/host_pool.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(HostPool, KeepsTheChunksUsedLast) {
  HostPool pool(6);
  EXPECT_TRUE(pool.keep(1, 2));
  EXPECT_TRUE(pool.keep(2, 2));
  EXPECT_TRUE(pool.keep(3, 2));
  EXPECT_FALSE(pool.keep(1, 2)) << "it is there: nothing to copy, but a use";
  EXPECT_TRUE(pool.keep(4, 2));
  EXPECT_FALSE(pool.holds(2)) << "used longest ago";
  EXPECT_TRUE(pool.holds(1) && pool.holds(3) && pool.holds(4));
  EXPECT_EQ(pool.used(), 6);
}

TEST(HostPool, SequencesPushChunksOutAndNotTheOtherWayRound) {
  HostPool pool(6);
  EXPECT_TRUE(pool.keep(1, 2));
  EXPECT_TRUE(pool.keep(2, 2));
  EXPECT_TRUE(pool.reserve(3));
  EXPECT_FALSE(pool.holds(1));
  EXPECT_TRUE(pool.holds(2));
  EXPECT_EQ(pool.swapped(), 3);
  EXPECT_FALSE(pool.reserve(4)) << "3 of 6 are a sequence's";
  EXPECT_TRUE(pool.holds(2)) << "what does not help must not go";
  EXPECT_FALSE(pool.keep(3, 4));
  pool.give_back(3);
  EXPECT_EQ(pool.used(), 2);
  EXPECT_EQ(pool.used_peak(), 5);
  EXPECT_THROW(pool.give_back(1), InternalError);
}

TEST(HostPool, WhatIsBeingCopiedStays) {
  HostPool pool(4);
  EXPECT_TRUE(pool.keep(1, 2));
  EXPECT_TRUE(pool.keep(2, 2));
  pool.pin(1);
  EXPECT_TRUE(pool.keep(3, 2)) << "2 goes, though it was used later";
  EXPECT_TRUE(pool.holds(1));
  EXPECT_FALSE(pool.reserve(3));
  pool.unpin(1);
  EXPECT_TRUE(pool.reserve(4));
}

TEST(HostPool, WithoutRoomNothingFits) {
  HostPool pool(0);
  EXPECT_FALSE(pool.keep(1, 1));
  EXPECT_FALSE(pool.reserve(1));
  EXPECT_FALSE(pool.holds(1));
}

}  // namespace
}  // namespace foretoken
