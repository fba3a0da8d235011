// The scheduler "orca": whole prompts, blocks for the whole length, by hand.

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

// Blocks of 4 tokens, 10 of them. Whoever starts takes the blocks of prompt and output at once:
//   0: 8 + 4 = 12 tokens, 3 blocks     1: 10 + 6 = 16, 4     2: 8 + 8 = 16, 4     3: 4 + 1 = 5, 2
//   step 1   0 and 1 start (7 blocks); 2 would need 4 of 3, and 3 does not overtake it
//   step 2…4 both decode; with its fourth token 0 ends and gives 3 back: 6 are free
//   step 5   1 decodes, 2 and 3 start (no block is left); 3 ends with its only token
//   step 6   1 draws its sixth and ends, 2 decodes, alone from then on
TEST(Orca, StartsWhoHasRoomForItsWholeLength) {
  EngineFixture engine(10, 4, {.batch_tokens_max = 100, .sequences_max = 8}, "", "orca");
  engine.submit(8, 4);
  engine.submit(10, 6);
  engine.submit(8, 8);
  engine.submit(4, 1);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:8 1:10"));
  EXPECT_EQ(engine.cache.used(), 7);
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("0:1 1:1", "0:1 1:1", "0:1 1:1", "1:1 2:8 3:4"));
  EXPECT_EQ(engine.cache.used(), 8) << "3 has ended";
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("1:1 2:1", "2:1"));
}

// 10 tokens a step: beside the decode of 0 there is no room for the 10 of 1, which is not cut and
// waits until 0 has drawn its three tokens.
TEST(Orca, CutsNoPrompt) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 10, .sequences_max = 8}, "", "orca");
  engine.submit(4, 3);
  Sequence& second = engine.submit(10, 1);
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("0:4", "0:1", "0:1", "1:10"));
  EXPECT_TRUE(engine.scheduler->can_serve(second));
  second.prompt_tokens = 11;
  EXPECT_FALSE(engine.scheduler->can_serve(second));
}

// Every client asks for up to 12 tokens: 4 + 12 are 4 blocks, whatever it gets in the end; 100 are
// all that there is.
TEST(Orca, KeepsBlocksForWhatClientsMayAskFor) {
  EngineFixture engine(10, 4, {}, "output_limit = 12", "orca");
  Sequence& sequence = engine.submit(4, 1);
  (void)engine.next();
  EXPECT_EQ(sequence.blocks, 4);
  EngineFixture generous(10, 4, {}, "output_limit = 100", "orca");
  Sequence& alone = generous.submit(4, 1);
  (void)generous.next();
  EXPECT_EQ(alone.blocks, 10);
  EXPECT_EQ(options_error("orca", "output_limit = -1"),
            "options:1:1: engine.output_limit: is the most a client asks for: at least 1 (or 0: "
            "its actual output)");
}

}  // namespace
}  // namespace foretoken
