// The scheduler "tensorrt_llm": capacity policies and chunks, by hand.

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

// Blocks of 4 tokens, 10 of them; the same four requests as in orca_test.cpp.
//   0: 8 + 4 = 12 tokens, 3 blocks     1: 10 + 6 = 16, 4     2: 8 + 8 = 16, 4     3: 4 + 1 = 5, 2
//   step 1   0 and 1 start: they are promised 7 and hold 2 + 3; 2 would need 4 of 10 - 7
//   step 2…4 both decode, nobody can be short of a block
//   step 5   0 has ended: 2 and 3 start
TEST(TensorrtLlm, GuaranteedNoEvictPromisesBlocksWithoutTakingThem) {
  EngineFixture engine(10, 4, {.batch_tokens_max = 100, .sequences_max = 8}, "", "tensorrt_llm");
  engine.submit(8, 4);
  engine.submit(10, 6);
  engine.submit(8, 8);
  engine.submit(4, 1);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:8 1:10"));
  EXPECT_EQ(engine.cache.used(), 5);
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("0:1 1:1", "0:1 1:1", "0:1 1:1", "1:1 2:8 3:4"));
}

// 4 blocks of 4. Both prompts of 8 fit; their first decodes need a block each, and there is none.
//   step 2   1, which started last, is paused; 0 decodes
//   step 3…4 0 decodes and ends
//   step 5   1 again: 8 of its prompt and the 1 it had drawn
TEST(TensorrtLlm, MaxUtilizationPausesWhoStartedLast) {
  EngineFixture engine(4, 4, {.batch_tokens_max = 100, .sequences_max = 8},
                       "capacity_policy = \"max_utilization\"", "tensorrt_llm");
  engine.submit(8, 4);
  Sequence& last = engine.submit(8, 4);
  EXPECT_THAT(run_steps(engine, 5), ElementsAre("0:8 1:8", "0:1", "0:1", "0:1", "1:9"));
  EXPECT_EQ(last.record.preemptions, 1);
}

// 16 tokens a step, prompts of 10, blocks of 4.
//   whole          0 alone; then 1 beside the decode of 0
//   chunked        0 whole, of the 6 that are left 1 takes a multiple of a block
//   equal progress 4, 4, and again 4, 4
TEST(TensorrtLlm, PromptsAreWholeOrShareTheStepInBlocks) {
  const auto steps = [](const std::string& options) {
    EngineFixture engine(100, 4, {.batch_tokens_max = 16, .sequences_max = 8}, options,
                         "tensorrt_llm");
    engine.submit(10, 5);
    engine.submit(10, 5);
    return run_steps(engine, 2);
  };
  EXPECT_THAT(steps(""), ElementsAre("0:10", "0:1 1:10"));
  EXPECT_THAT(steps("chunked_prefill = true"), ElementsAre("0:10 1:4", "0:1 1:6"));
  EXPECT_THAT(steps("chunked_prefill = true\nchunking_policy = \"equal_progress\""),
              ElementsAre("0:8 1:8", "0:2 1:2"));
}

// 20 tokens a step; 0 decodes when 1 arrives, whose 4 tokens and the decode are below 16.
//   step 2, 3   1 is held back
//   step 4      it has waited two steps
TEST(TensorrtLlm, PromptsWaitForOthersBesideDecodes) {
  const std::string waits = "batch_wait_steps = 2\nbatch_wait_share = 0.8";
  EngineFixture engine(100, 4, {.batch_tokens_max = 20, .sequences_max = 8}, waits, "tensorrt_llm");
  engine.submit(4, 9);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:4")) << "nothing else to do";
  engine.submit(4, 9);
  EXPECT_THAT(run_steps(engine, 3), ElementsAre("0:1", "0:1", "0:1 1:4"));
  engine.submit(7, 9);
  engine.submit(7, 9);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:1 1:1 2:7 3:7")) << "enough have come";
}

TEST(TensorrtLlm, RefusesAPromptLongerThanAStepUnlessItMayBeCut) {
  Sequence sequence;
  sequence.prompt_tokens = 17;
  for (const bool is_chunked : {false, true}) {
    EngineFixture engine(100, 4, {.batch_tokens_max = 16, .sequences_max = 8},
                         is_chunked ? "chunked_prefill = true" : "", "tensorrt_llm");
    EXPECT_EQ(engine.scheduler->can_serve(sequence), is_chunked);
  }
}

TEST(TensorrtLlm, NamesContradictions) {
  EXPECT_EQ(options_error("tensorrt_llm", "chunking_policy = \"equal_progress\""),
            "options:1:1: engine.chunking_policy: is for chunked prompts; it needs chunked_prefill "
            "= true");
  EXPECT_EQ(options_error("tensorrt_llm", "batch_wait_share = 1.5"),
            "options:1:1: engine.batch_wait_share: is a share of batch_tokens_max: from 0 to 1");
  EXPECT_EQ(options_error("tensorrt_llm", "batch_wait_steps = -1"),
            "options:1:1: engine.batch_wait_steps: must not be negative");
}

}  // namespace
}  // namespace foretoken
