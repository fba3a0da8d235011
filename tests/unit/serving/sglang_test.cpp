// The scheduler "sglang": prefill first, expected output, retraction, by hand.

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

// Prefill goes first and alone: 1 comes while 0 decodes, and 0 waits for its prompt.
TEST(Sglang, PrefillGoesBeforeDecode) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 100, .sequences_max = 8}, "", "sglang");
  engine.submit(8, 4);
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:8", "0:1"));
  engine.submit(8, 2);
  EXPECT_THAT(run_steps(engine, 3), ElementsAre("1:8", "0:1 1:1", "0:1"));
}

// Chunks of 8 in blocks of 4. The 20 of 0 take two steps and half a third, 1 begins with the other
// half; one prompt at a time is cut, and nobody decodes until both are through.
TEST(Sglang, CutsOnePromptAtATime) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 100, .sequences_max = 8}, "chunk_tokens = 8",
                       "sglang");
  engine.submit(20, 2);
  engine.submit(10, 2);
  EXPECT_THAT(run_steps(engine, 5), ElementsAre("0:8", "0:8", "0:4 1:4", "1:6", "0:1 1:1"));
}

// The same with decodes in prefill steps: of the chunk of 8 the decode of 0 keeps one, and of the 7
// that are left 1 takes whole blocks.
TEST(Sglang, DecodesJoinAPrefillStepIfMixed) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 100, .sequences_max = 8},
                       "chunk_tokens = 8\nmixed_chunk = true", "sglang");
  engine.submit(4, 9);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:4"));
  engine.submit(10, 9);
  EXPECT_THAT(run_steps(engine, 3), ElementsAre("1:4 0:1", "1:6 0:1", "0:1 1:1"));
}

// The scheduler looks after the prompt of 0, and then after every third step: 1, which comes behind
// the first decode, waits for two more. Beside nobody it would not have waited.
TEST(Sglang, LooksForNewRequestsEverySoManySteps) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 100, .sequences_max = 8}, "receive_steps = 3",
                       "sglang");
  engine.submit(8, 5);
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:8", "0:1"));
  engine.submit(8, 2);
  EXPECT_THAT(run_steps(engine, 4), ElementsAre("0:1", "0:1", "1:8", "0:1 1:1"));
  engine.submit(4, 2);
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("2:4", "2:1"));
}

// 100 tokens of KV in blocks of 1. 0 has its 10 and drew one of 50; 0.7 of the other 49 are
// expected: 90 - 34.3 = 55.7 are spare.
//   1: 20 + 30 and a block are 51: comes in, 55.7 - 50 = 5.7 are left
//   2: 2 + 1 and a block are 4: comes in, 2.7 are left
//   3: 2 + 3 and a block are 6: waits, until somebody leaves, though decodes make room meanwhile
TEST(Sglang, LetsInWhoseOutputIsExpectedToFit) {
  EngineFixture engine(100, 1, {.batch_tokens_max = 100, .sequences_max = 8}, "", "sglang");
  engine.submit(10, 50);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:10"));
  engine.submit(20, 30);
  engine.submit(2, 2);
  engine.submit(2, 3);
  EXPECT_THAT(run_steps(engine, 3), ElementsAre("1:20 2:2", "0:1 1:1 2:1", "3:2"));
}

// With conservativeness 2 all of the output is expected: 90 - 49 = 41 are spare, and 1 waits.
TEST(Sglang, ConservativenessExpectsMore) {
  EngineFixture engine(100, 1, {.batch_tokens_max = 100, .sequences_max = 8},
                       "conservativeness = 2.0", "sglang");
  engine.submit(10, 50);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:10"));
  engine.submit(20, 30);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:1"));
}

// 20 tokens of KV in blocks of 1, and conservativeness 0.1: 0.07 of an output is expected.
//   step 1     0 prefills 6
//   step 2     14 - 0.07 * 13 = 13.09 are spare, 1 wants 5 + 7 and a block: comes in
//   step 3…6   both decode, 2 tokens a step: 11 + 8 = 19 are held
//   step 7     2 are needed, 1 is free. Both have drawn 5; 0 has the longer prompt and is retracted
//   step 8     0 would need 11 + 9 and a block: 1 draws its seventh token and ends
//   step 9     0 computes its prompt and 5 drawn tokens again
TEST(Sglang, RetractsWhoHasDrawnLeast) {
  EngineFixture engine(20, 1, {.batch_tokens_max = 100, .sequences_max = 8},
                       "conservativeness = 0.1", "sglang");
  Sequence& first = engine.submit(6, 14);
  EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:6"));
  engine.submit(5, 7);
  EXPECT_THAT(run_steps(engine, 5), ElementsAre("1:5", "0:1 1:1", "0:1 1:1", "0:1 1:1", "0:1 1:1"));
  EXPECT_EQ(engine.cache.free(), 1);
  EXPECT_THAT(run_steps(engine, 3), ElementsAre("1:1", "1:1", "0:11"));
  EXPECT_EQ(first.record.preemptions, 1);
}

Sequence prompt(std::int64_t tokens, int chunk_tokens, std::vector<std::uint64_t> hashes) {
  Sequence sequence;
  sequence.prompt_tokens = tokens;
  sequence.output_tokens = 1;
  sequence.prefix_chunk_tokens = chunk_tokens;
  sequence.prefix_hashes = std::move(hashes);
  return sequence;
}

// Two chunks of 4 tokens are cached from 0. By longest prefix match 2 overtakes 1 and computes one
// token; in order of arrival it does not.
TEST(Sglang, TheLongestCachedPrefixGoesFirstIfAsked) {
  for (const bool is_lpm : {true, false}) {
    EngineFixture engine(100, 4, {.batch_tokens_max = 100, .sequences_max = 1},
                         is_lpm ? "order = \"lpm\"" : "", "sglang", true);
    engine.submit(prompt(9, 4, {1, 2}));
    EXPECT_THAT(run_steps(engine, 1), ElementsAre("0:9"));
    engine.submit(prompt(9, 4, {3, 4}));
    engine.submit(prompt(9, 4, {1, 2}));
    EXPECT_THAT(run_steps(engine, 2),
                is_lpm ? ElementsAre("2:1", "1:9") : ElementsAre("1:9", "2:1"));
  }
}

// 0 and 1 begin with the same 40 tokens that nobody has computed: 1 waits behind 2 for what 0 will
// have cached.
TEST(Sglang, OneOfThoseThatBeginAlikeGoesAhead) {
  EngineFixture engine(100, 4, {.batch_tokens_max = 100, .sequences_max = 1}, "order = \"lpm\"",
                       "sglang", true);
  engine.submit(prompt(41, 40, {7}));
  engine.submit(prompt(41, 40, {7}));
  engine.submit(prompt(10, 40, {}));
  EXPECT_THAT(run_steps(engine, 2), ElementsAre("0:41", "1:1"))
      << "once 0 has left, the prefix of 1 is cached and the longest";
  EngineFixture full(100, 4, {.batch_tokens_max = 100, .sequences_max = 3}, "order = \"lpm\"",
                     "sglang", true);
  full.submit(prompt(41, 40, {7}));
  full.submit(prompt(41, 40, {7}));
  full.submit(prompt(10, 40, {}));
  EXPECT_THAT(run_steps(full, 1), ElementsAre("0:41 2:10 1:1"));
}

TEST(Sglang, RefusesAPromptLongerThanAStepUnlessItMayBeCut) {
  Sequence sequence;
  sequence.prompt_tokens = 17;
  for (const bool is_cut : {false, true}) {
    EngineFixture engine(100, 4, {.batch_tokens_max = 16, .sequences_max = 8},
                         is_cut ? "chunk_tokens = 8" : "chunk_tokens = -1", "sglang");
    EXPECT_EQ(engine.scheduler->can_serve(sequence), is_cut);
  }
}

TEST(Sglang, NamesItsMistakes) {
  EXPECT_EQ(options_error("sglang", "conservativeness = 0"),
            "options:1:1: engine.conservativeness: must be above 0");
  EXPECT_EQ(options_error("sglang", "order = \"lmp\""),
            "options:1:1: engine.order: unknown value 'lmp'; did you mean 'lpm'? Known: fcfs, lpm");
}

}  // namespace
}  // namespace foretoken
