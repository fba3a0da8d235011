// The scheduler "sarathi": decodes first, then chunks, by hand.

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

// 8 tokens a step.
//   step 1   0 prefills its 4, 1 starts with the other 4 of its 20
//   step 2   0 decodes first, 1 has 7 left to take: 11
//   step 3   the same: 18
//   step 4   the last 2 of 1; its first token comes
//   step 5   both decode
TEST(Sarathi, ADecodeNeverWaitsForAPrompt) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 64, .sequences_max = 4}, "chunk_tokens = 8",
                       "sarathi");
  engine.submit(4, 10);
  engine.submit(20, 3);
  EXPECT_THAT(run_steps(engine, 5),
              ElementsAre("0:4 1:4", "0:1 1:7", "0:1 1:7", "0:1 1:2", "0:1 1:1"));
}

// A prompt goes on before a new one starts: 2 begins with what 1 leaves of the 8.
TEST(Sarathi, FinishesAPromptBeforeItStartsTheNext) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 64, .sequences_max = 4}, "chunk_tokens = 8",
                       "sarathi");
  engine.submit(12, 9);
  engine.submit(12, 9);
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("0:8", "0:4 1:4", "0:1 1:7", "0:1 1:1"));
}

// 6 blocks of 4. The prompt of 0 takes 4 with its first chunk of 8 tokens; 1 needs 3 for its 12 and
// finds 2, though there is room for a chunk.
TEST(Sarathi, StartsWhoHasRoomForItsWholePrompt) {
  EngineFixture engine(6, 4, {.batch_tokens_max = 64, .sequences_max = 4}, "chunk_tokens = 20",
                       "sarathi");
  Sequence& first = engine.submit(16, 2);
  engine.submit(12, 1);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:16"));
  EXPECT_EQ(first.blocks, 4);
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:1", "1:12"));
}

TEST(Sarathi, NeedsATokenForEverySequence) {
  EXPECT_EQ(options_error("sarathi", "chunk_tokens = 100",
                          {.batch_tokens_max = 8192, .sequences_max = 256}),
            "options:1:1: engine.chunk_tokens: 100 is below sequences_max = 256: every decoding "
            "sequence needs a token of it; raise it or lower sequences_max");
}

}  // namespace
}  // namespace foretoken
