// The scheduler "priority": who goes first and who makes way, by hand.

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken::priority_test {
namespace {

using ::testing::ElementsAre;

Sequence request(std::int64_t prompt, std::int64_t output, int priority) {
  Sequence sequence;
  sequence.prompt_tokens = prompt;
  sequence.output_tokens = output;
  sequence.priority = priority;
  return sequence;
}

TEST(Priority, ServesClassesInOrderAndEachInOrderOfArrival) {
  EngineFixture engine(100, 16, {.batch_tokens_max = 200, .sequences_max = 1}, "", "priority");
  for (const int priority : {2, 0, 1, 0}) engine.submit(request(10 + priority, 1, priority));
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("1:10", "3:10", "2:11", "0:12"));
}

// Two places, both taken by class 1; then 2 of class 0 comes.
//   step 2   1, the last of its class, gives way; 0 decodes, 2 prefills and ends with its one token
//   step 3   1 is back: its 8 of the prompt and the 1 it had drawn are computed again
TEST(Priority, AnUrgentRequestDisplacesTheLastOfALowerClass) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 100, .sequences_max = 2}, "", "priority");
  engine.submit(request(8, 10, 1));
  Sequence& last = engine.submit(request(8, 10, 1));
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:8 1:8"));
  engine.submit(request(8, 1, 0));
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:1 2:8", "0:1 1:9"));
  EXPECT_EQ(last.record.preemptions, 1);
}

TEST(Priority, NobodyMakesWayForTheirOwnClassNorIfItIsSwitchedOff) {
  for (const int priority : {0, 1}) {
    EngineFixture engine(100, 4, {.batch_tokens_max = 100, .sequences_max = 1},
                         priority == 0 ? "preempts = false" : "", "priority");
    engine.submit(request(8, 3, 1));
    EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:8"));
    engine.submit(request(8, 1, priority));
    EXPECT_THAT(run_steps(engine, 3), ElementsAre("0:1", "0:1", "1:8"));
  }
}

// 6 blocks of 4. Class 0 holds 3 for its 12 tokens, class 1 holds 2; the next of class 0 would need
// 4, and those of class 1 with the free one are 3: nobody is displaced in vain.
TEST(Priority, NobodyIsDisplacedInVain) {
  EngineFixture engine(6, 4, {.batch_tokens_max = 100, .sequences_max = 4}, "", "priority");
  engine.submit(request(11, 2, 0));
  Sequence& lower = engine.submit(request(7, 2, 1));
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:11 1:7"));
  engine.submit(request(16, 1, 0));
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:1 1:1", "2:16"));
  EXPECT_EQ(lower.record.preemptions, 0);
}

// 4 blocks of 4, full with 8 tokens each. The decode of 0, which came first but is of class 1,
// finds no block: 1 of class 0 has its own, so 0 is preempted, the least urgent.
TEST(Priority, BlocksAreTakenFromTheLeastUrgent) {
  EngineFixture engine(4, 4, {.batch_tokens_max = 100, .sequences_max = 4}, "", "priority");
  Sequence& lower = engine.submit(request(8, 3, 1));
  Sequence& urgent = engine.submit(request(8, 3, 0));
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("1:8 0:8", "1:1"));
  EXPECT_EQ(lower.record.preemptions, 1);
  EXPECT_EQ(urgent.record.preemptions, 0);
}

// 10 tokens a step. 0 of class 1 has begun its 30; 1 of class 0 comes and has all tokens until it
// decodes.
TEST(Priority, PromptsShareTheStepInOrderOfTheirClasses) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 10, .sequences_max = 4}, "", "priority");
  engine.submit(request(30, 2, 1));
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:10"));
  engine.submit(request(15, 3, 0));
  EXPECT_THAT(run_steps(engine, 3), ElementsAre("1:10", "1:5 0:5", "1:1 0:9"));
}

}  // namespace
}  // namespace foretoken::priority_test
