// The scheduler "static": batches that nobody joins, by hand.

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

// Two sequences a batch, 10 tokens a step.
//   step 1   0 prefills its 8; the 6 of 1 do not fit beside them
//   step 2   1 prefills
//   step 3   both decode; 0 has its two tokens and ends
//   step 4…5 1 draws its third and fourth alone, though 2 waits and a place is free
//   step 6   a new batch: 2
TEST(Static, ABatchRunsUntilItsLastRequestIsThrough) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 10, .sequences_max = 2}, "", "static");
  engine.submit(8, 2);
  engine.submit(6, 4);
  engine.submit(4, 1);
  EXPECT_THAT(run_steps(engine, 6), ElementsAre("0:8", "1:6", "0:1 1:1", "1:1", "1:1", "2:4"));
}

// 5 blocks of 4: 8 + 4 and 4 + 4 tokens take 3 and 2 of them; the third has to wait for a new
// batch.
TEST(Static, TakesAsManyAsHaveRoomForTheirWholeLength) {
  EngineFixture engine(5, 4, {}, "", "static");
  engine.submit(8, 4);
  engine.submit(4, 4);
  engine.submit(1, 1);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:8 1:4"));
  EXPECT_EQ(engine.cache.free(), 0);
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("0:1 1:1", "0:1 1:1", "0:1 1:1", "2:1"));
}

TEST(Static, RefusesAPromptThatFitsNoStep) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 10, .sequences_max = 2}, "", "static");
  Sequence sequence;
  sequence.prompt_tokens = 11;
  EXPECT_FALSE(engine.scheduler->can_serve(sequence));
}

}  // namespace
}  // namespace foretoken
