// The scheduler "shortest_job_first": the order of the queue and how it ages, by hand.

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

// One at a time. Jobs of 101, 11 and 51 tokens that came together go by length.
TEST(ShortestJobFirst, LetsTheShortestInFirst) {
  EngineFixture engine(100, 16, {.batch_tokens_max = 200, .sequences_max = 1}, "",
                       "shortest_job_first");
  engine.submit(100, 1);
  engine.submit(10, 1);
  engine.submit(50, 1);
  EXPECT_THAT(run_steps(engine, 3), ElementsAre("1:10", "2:50", "0:100"));
}

// What an engine can see of 20 + 100 and 30 + 1 tokens is 20 and 30.
TEST(ShortestJobFirst, KnowsTheOutputOrOnlyThePrompt) {
  for (const bool is_known : {true, false}) {
    EngineFixture engine(100, 16, {.batch_tokens_max = 200, .sequences_max = 1},
                         is_known ? "" : "length = \"prompt\"", "shortest_job_first");
    engine.submit(20, 100);
    engine.submit(30, 1);
    EXPECT_THAT(run_steps(engine, 1), ElementsAre(is_known ? "1:30" : "0:20"));
  }
}

// With a patience of 10 s the 101 tokens of 0 count as 101 * (1 - 8/10) = 20.2 after 8 s, more than
// the 11 of a new job, and as 101 * (1 - 9.5/10) = 5.05 after 9.5 s, less.
TEST(ShortestJobFirst, WaitingShortensAJob) {
  EngineFixture engine(100, 16, {.batch_tokens_max = 200, .sequences_max = 1},
                       "patience = \"10 s\"", "shortest_job_first");
  engine.submit(100, 1);
  engine.now = Seconds(8.0);
  engine.submit(10, 1);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("1:10"));
  engine.now = Seconds(9.5);
  engine.submit(10, 1);
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:100", "2:10"));
}

// A short job arrives in every step, as fast as they are served; the long one starts once its
// patience is over and it counts as nothing.
TEST(ShortestJobFirst, NobodyStarves) {
  EngineFixture engine(100, 16, {.batch_tokens_max = 200, .sequences_max = 1}, "patience = \"5 s\"",
                       "shortest_job_first");
  Sequence& sequence = engine.submit(100, 1);
  int steps = 0;
  while (!sequence.is_done() && steps < 1000) {
    engine.submit(1, 1);
    (void)run_steps(engine, 1);
    engine.now += Seconds(1.0);
    ++steps;
  }
  EXPECT_EQ(steps, 6);  // those at 0 to 4 s served others; 101 * (1 - 5/5) = 0 is the least at 5 s
}

TEST(ShortestJobFirst, NamesItsMistakes) {
  EXPECT_EQ(options_error("shortest_job_first", "patience = \"0 s\""),
            "options:1:1: engine.patience: must be above 0 s");
  EXPECT_EQ(options_error("shortest_job_first", "length = \"promt\""),
            "options:1:1: engine.length: unknown value 'promt'; did you mean 'prompt'? Known: "
            "known, prompt");
}

}  // namespace
}  // namespace foretoken
