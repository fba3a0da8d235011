// Sequences whose prompt was computed elsewhere: they hold their blocks before a scheduler knows
// them.

#include <gtest/gtest.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

/// Holds `prompt` tokens and the room for one more; its first token is drawn.
Sequence& bring(EngineFixture& engine, std::int64_t prompt, std::int64_t output) {
  Sequence& sequence = engine.sequences.emplace_back();
  sequence.record.id = RequestId{static_cast<std::uint32_t>(engine.sequences.size() - 1)};
  sequence.prompt_tokens = prompt;
  sequence.output_tokens = output;
  EXPECT_TRUE(engine.cache.start(sequence, {}, 0, prompt + 1));
  sequence.produced = 1;
  sequence.computed = prompt;
  engine.scheduler->join(sequence);
  return sequence;
}

TEST(Join, DecodesFromTheFirstStepOn) {
  for (const char* name : {"vllm_v1", "sarathi", "sglang", "tensorrt_llm", "orca", "static",
                           "shortest_job_first", "priority"}) {
    EngineFixture engine(20, 16, {.batch_tokens_max = 64, .sequences_max = 8},
                         name == std::string("sarathi") ? "chunk_tokens = 64" : "", name);
    bring(engine, 40, 3);
    EXPECT_EQ(engine.scheduler->waiting(), 1) << name;
    EXPECT_EQ(engine.scheduler->waiting_for_blocks(), 0) << name;
    EXPECT_EQ(run_steps(engine, 3), (std::vector<std::string>{"0:1", "0:1", ""})) << name;
    EXPECT_EQ(engine.cache.used(), 0) << name;
  }
}

TEST(Join, WaitsForASlotBeforeThoseThatWaitForBlocks) {
  EngineFixture engine(20, 16, {.batch_tokens_max = 64, .sequences_max = 1});
  engine.submit(16, 1);
  bring(engine, 40, 2);
  EXPECT_EQ(engine.scheduler->waiting(), 2);
  EXPECT_EQ(engine.scheduler->waiting_for_blocks(), 1);
  EXPECT_EQ(run_steps(engine, 3), (std::vector<std::string>{"1:1", "0:16", ""}));
}

TEST(Join, MakesRoomForThoseBeforeIt) {
  // Blocks for 3 x 16 tokens: both hold 16 + 1 and so 2 blocks each would be 4.
  EngineFixture engine(3, 16, {.batch_tokens_max = 64, .sequences_max = 4});
  Sequence& first = engine.submit(14, 20);
  engine.complete(engine.next());           // holds 1 block
  Sequence& second = bring(engine, 20, 4);  // 2 blocks
  std::vector<std::string> steps = run_steps(engine, 3);
  EXPECT_EQ(steps[0], "0:1 1:1");
  EXPECT_EQ(second.record.preemptions, 1);  // the first needs a second block for token 17
  EXPECT_EQ(first.record.preemptions, 0);
}

TEST(Join, CanBeGivenUpWhileItWaits) {
  EngineFixture engine(20, 16, {.batch_tokens_max = 64, .sequences_max = 1});
  Sequence& sequence = bring(engine, 40, 2);
  engine.give_up(sequence);
  EXPECT_EQ(engine.scheduler->waiting(), 0);
  EXPECT_EQ(engine.cache.used(), 0);
}

}  // namespace
}  // namespace foretoken
