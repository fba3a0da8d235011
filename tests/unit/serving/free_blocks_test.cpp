// What a preempted sequence finds of its own blocks, by hand.

#include "sim/serving/free_blocks.hpp"

#include <gtest/gtest.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

TEST(FreeBlocks, ThoseFreedLongestAgoGoFirst) {
  FreeBlocks free(10);
  free.take(10);
  Sequence first, second;
  free.leave(first, 4);
  free.give_back(2);
  free.leave(second, 3);
  EXPECT_EQ(free.count(), 9);
  free.take(3);
  EXPECT_EQ(first.left_blocks, 1) << "its last blocks went";
  free.take(4);
  EXPECT_EQ(first.left_blocks, 0);
  EXPECT_EQ(second.left_blocks, 2) << "after the 2 that were nobody's";
  free.reclaim(second);
  EXPECT_EQ(second.left_blocks, 0);
  EXPECT_EQ(free.count(), 0);
}

TEST(FreeBlocks, WhatNobodyComesBackForIsFree) {
  FreeBlocks free(5);
  free.take(5);
  Sequence gone;
  free.leave(gone, 5);
  free.disown(gone);
  EXPECT_EQ(gone.left_blocks, 0);
  EXPECT_EQ(free.count(), 5);
  free.take(5);
  EXPECT_EQ(free.count(), 0);
}

TEST(FreeBlocks, APreemptedSequenceComputesOnlyWhatWasTaken) {
  // 6 blocks of 16: both prompts of 40 take 3. For its 49th token the first needs a fourth, so the
  // second loses its own, all three whole: the last goes to the first.
  EngineFixture engine(6, 16, {}, "", "vllm_v1", true);
  Sequence& first = engine.submit(40, 20);
  Sequence& second = engine.submit(40, 20);
  while (second.record.preemptions == 0) engine.complete(engine.next());
  EXPECT_EQ(first.known_tokens(), 50) << "the step that takes its fourth block gives it one more";
  EXPECT_EQ(second.left_blocks, 2);
  while (!first.is_done()) engine.complete(engine.next());
  // 49 tokens, of which 32 are left.
  EXPECT_EQ(step_text(engine.next()), "1:17");
}

TEST(FreeBlocks, WithoutPrefixCachingEverythingIsComputedAgain) {
  EngineFixture engine(6, 16, {});
  Sequence& first = engine.submit(40, 20);
  Sequence& second = engine.submit(40, 20);
  while (second.record.preemptions == 0) engine.complete(engine.next());
  while (!first.is_done()) engine.complete(engine.next());
  EXPECT_EQ(step_text(engine.next()), "1:49");
}

TEST(ReservePrompt, AnAdmittedPromptFitsWhole) {
  // 8 free blocks, a prompt of 10: its first chunk of 32 tokens would fit.
  for (const bool reserves : {false, true}) {
    EngineFixture engine(12, 16, {32, 8}, reserves ? "reserve_prompt = true" : "");
    engine.submit(64, 50);
    engine.complete(engine.next());
    engine.complete(engine.next());
    engine.submit(160, 10);
    EXPECT_EQ(step_text(engine.next()), reserves ? "0:1" : "0:1 1:31");
  }
}

}  // namespace
}  // namespace foretoken
