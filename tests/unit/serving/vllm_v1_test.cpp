// The scheduler "vllm_v1": who runs and with how many tokens, step by step and by hand.

#include <gmock/gmock.h>

#include "tests/unit/serving/engine_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

TEST(VllmV1, PrefillsThenDecodesOneTokenAStep) {
  EngineFixture engine(100, 16, {.batch_tokens_max = 1000, .sequences_max = 8});
  Sequence& sequence = engine.submit(40, 3);

  Batch batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(40));
  EXPECT_TRUE(batch.entries[0].samples);
  EXPECT_EQ(batch.shape.logit_rows, 1);
  EXPECT_EQ(sequence.blocks, 3);  // 40 tokens in blocks of 16
  engine.complete(batch);
  EXPECT_EQ(sequence.produced, 1);

  batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(1));
  EXPECT_EQ(batch.entries[0].context_tokens, 41);
  engine.complete(batch);
  engine.complete(engine.next());
  EXPECT_TRUE(sequence.is_done());
  EXPECT_EQ(engine.cache.used(), 0);
  EXPECT_TRUE(engine.next().empty());
}

TEST(VllmV1, CutsPromptsToTheTokenBudgetAndSamplesOnlyAtTheEnd) {
  EngineFixture engine(1000, 16, {.batch_tokens_max = 100, .sequences_max = 8});
  engine.submit(250, 2);
  Batch batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(100));
  EXPECT_FALSE(batch.entries[0].samples);
  EXPECT_EQ(batch.shape.logit_rows, 0);
  engine.complete(batch);
  batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(100));
  engine.complete(batch);
  batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(50));
  EXPECT_TRUE(batch.entries[0].samples);
}

TEST(VllmV1, ServesDecodesBeforeAdmittingPrompts) {
  EngineFixture engine(1000, 16, {.batch_tokens_max = 64, .sequences_max = 8});
  engine.submit(60, 10);
  engine.complete(engine.next());
  engine.submit(200, 10);
  const Batch batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(1, 63));  // 64 - 1 decode are left for the prompt
  EXPECT_EQ(batch.shape.attention.decode.sequences, 1);
  EXPECT_EQ(batch.shape.attention.decode.context_tokens, 61);
  EXPECT_EQ(batch.shape.attention.prefill.query_tokens, 63);
}

TEST(VllmV1, AdmitsInOrderOfArrivalUpToTheSequenceLimit) {
  EngineFixture engine(1000, 16, {.batch_tokens_max = 1000, .sequences_max = 2});
  engine.submit(10, 5);
  engine.submit(20, 5);
  engine.submit(30, 5);
  EXPECT_THAT(new_tokens(engine.next()), ElementsAre(10, 20));
  EXPECT_EQ(engine.scheduler->running(), 2);
  EXPECT_EQ(engine.scheduler->waiting(), 1);
}

TEST(VllmV1, DoesNotAdmitPastARequestThatFindsNoBlocks) {
  EngineFixture engine(4, 16, {.batch_tokens_max = 1000, .sequences_max = 8});
  engine.submit(40, 1);  // 3 blocks
  engine.submit(40, 1);  // 3 blocks: only 1 is free
  engine.submit(8, 1);   // would fit, but first come first served
  EXPECT_THAT(new_tokens(engine.next()), ElementsAre(40));
}

// One slot: the second sequence waits for the first one's adapter to go, and is passed by one that
// shares it and by one for the base model; then it is next.
TEST(VllmV1, PassesOverRequestsWithoutASlotForTheirAdapter) {
  EngineFixture engine(1000, 16, {.batch_tokens_max = 1000, .sequences_max = 8, .adapters_max = 1});
  const auto submit = [&](std::int64_t prompt, std::optional<std::uint32_t> adapter) {
    Sequence sequence;
    sequence.prompt_tokens = prompt;
    sequence.output_tokens = 2;
    sequence.adapter = adapter;
    engine.submit(sequence);
  };
  submit(10, 5);
  submit(20, 6);
  submit(30, 5);
  submit(40, std::nullopt);
  submit(50, 7);
  Batch batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(10, 30, 40));
  EXPECT_THAT(batch.adapters, ElementsAre(5));
  EXPECT_EQ(batch.shape.adapters, 1);
  EXPECT_EQ(batch.shape.adapted_tokens, 40);
  EXPECT_EQ(engine.scheduler->waiting(), 2);
  engine.complete(batch);
  engine.complete(engine.next());
  batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(20));
  EXPECT_THAT(batch.adapters, ElementsAre(6));
  engine.complete(batch);
  engine.complete(engine.next());
  EXPECT_THAT(new_tokens(engine.next()), ElementsAre(50));
}

TEST(VllmV1, PreemptsTheLastAdmittedAndRecomputesItWithItsOutput) {
  // 4 blocks of 4 tokens. Two sequences of 8 tokens fill them; the first decode needs a third
  // block.
  EngineFixture engine(4, 4, {.batch_tokens_max = 100, .sequences_max = 8});
  Sequence& first = engine.submit(8, 4);
  Sequence& last = engine.submit(8, 4);
  engine.complete(engine.next());
  EXPECT_EQ(engine.cache.free(), 0);

  Batch batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(1));
  EXPECT_EQ(batch.entries[0].sequence, &first);
  EXPECT_EQ(last.record.preemptions, 1);
  EXPECT_EQ(last.computed, 0);
  EXPECT_EQ(last.blocks, 0);
  EXPECT_EQ(last.produced, 1);  // what was said stays said
  engine.complete(batch);

  while (!first.is_done()) engine.complete(engine.next());
  batch = engine.next();
  EXPECT_THAT(new_tokens(batch), ElementsAre(9));  // 8 of the prompt and 1 it had produced
  EXPECT_TRUE(batch.entries[0].samples);
}

TEST(VllmV1, WaitsForAStepInFlightInsteadOfPreemptingIt) {
  EngineFixture engine(4, 4, {.batch_tokens_max = 8, .sequences_max = 8});
  Sequence& first = engine.submit(8, 4);
  Sequence& second = engine.submit(8, 4);
  const Batch first_step = engine.next();   // takes the budget of 8
  const Batch second_step = engine.next();  // with the first in flight, as pipelines do
  EXPECT_EQ(second_step.entries[0].sequence, &second);
  EXPECT_TRUE(engine.next().empty());
  engine.complete(first_step);
  // The first wants a third block; the second holds two and is in flight.
  EXPECT_TRUE(engine.next().empty());
  EXPECT_EQ(second.record.preemptions, 0);
  EXPECT_EQ(first.record.preemptions, 0);  // keeps its work: blocks may come free soon
  engine.complete(second_step);
  const Batch third_step = engine.next();
  EXPECT_EQ(third_step.entries[0].sequence, &first);
  EXPECT_EQ(second.record.preemptions, 1);
}

TEST(VllmV1, SchedulesTheNextChunkWhileTheLastIsInFlight) {
  EngineFixture engine(100, 16, {.batch_tokens_max = 64, .sequences_max = 8});
  engine.submit(100, 2);
  const Batch first = engine.next();
  const Batch second = engine.next();
  EXPECT_THAT(new_tokens(first), ElementsAre(64));
  EXPECT_THAT(new_tokens(second), ElementsAre(36));
  EXPECT_TRUE(second.entries[0].samples);
  EXPECT_TRUE(engine.next().empty());  // its next token depends on the step in flight
}

TEST(VllmV1, LimitsAPromptsChunkOnRequest) {
  EngineFixture engine(100, 16, {.batch_tokens_max = 1000, .sequences_max = 8},
                       "prefill_chunk_max = 30");
  engine.submit(50, 1);
  engine.submit(50, 1);
  EXPECT_THAT(new_tokens(engine.next()), ElementsAre(30, 30));
}

TEST(VllmV1, NamesItsUnknownOptions) {
  KvCache cache(1, 16);
  Diagnostics diagnostics;
  const Value table = parse_toml("prefil_chunk_max = 3", "f.toml");
  TableReader reader(table, diagnostics, "engine");
  (void)scheduler_catalog().find("vllm_v1", {}).make(reader, {}, cache);
  reader.finish();
  try {
    diagnostics.throw_if_any();
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "f.toml:1:1: unknown key 'prefil_chunk_max' in [engine]; did you mean "
                 "'prefill_chunk_max'?");
  }
}

}  // namespace
}  // namespace foretoken
