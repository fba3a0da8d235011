// Attention ranks: who takes a sequence, and that ranks keep what is theirs.
#include "sim/serving/attention_ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>

namespace foretoken {
namespace {

class AttentionRanksTest : public ::testing::Test {
 protected:
  void add_ranks(int count, std::int64_t blocks, SchedulerLimits limits = {},
                 const std::string& name = "vllm_v1", const Value& given = {}) {
    TableReader options(given, diagnostics, "");
    for (int i = 0; i < count; ++i) {
      auto cache = std::make_unique<KvCache>(blocks, 16);
      auto scheduler = scheduler_catalog().find(name, {}).make(options, limits, *cache);
      ranks.add(std::move(cache), std::move(scheduler));
    }
    batches.resize(static_cast<std::size_t>(count));
  }

  Sequence& submit(std::int64_t prompt) {
    Sequence& sequence = sequences.emplace_back();
    sequence.prompt_tokens = prompt;
    sequence.output_tokens = 10;
    ranks.enqueue(sequence);
    return sequence;
  }

  bool step() {
    for (Batch& batch : batches) batch.clear();
    return ranks.next_batches(Seconds(0.0), batches);
  }

  /// As step(), and what ran is there.
  bool run_step() {
    const bool any = step();
    for (Sequence& sequence : sequences) {
      if (sequence.steps_in_flight == 0) continue;
      sequence.steps_in_flight = 0;
      ++sequence.produced;
    }
    return any;
  }

  Diagnostics diagnostics;
  AttentionRanks ranks;
  std::vector<Batch> batches;
  std::deque<Sequence> sequences;
};

TEST_F(AttentionRanksTest, RequestsGoWhereTheLeastWaits) {
  add_ranks(3, 100);
  EXPECT_EQ(submit(32).attention_rank, 0U);
  EXPECT_EQ(submit(32).attention_rank, 1U);
  EXPECT_EQ(submit(32).attention_rank, 2U);
  EXPECT_EQ(submit(32).attention_rank, 0U);
  EXPECT_EQ(ranks.waiting(), 4);
  // All run now: 2, 1 and 1 sequences. One that waits counts as four.
  EXPECT_TRUE(step());
  EXPECT_EQ(ranks.running(), 4);
  EXPECT_EQ(submit(32).attention_rank, 1U);  // 2, 1 + 4, 1
  EXPECT_EQ(submit(32).attention_rank, 2U);  // 2, 5, 1 + 4
  EXPECT_EQ(submit(32).attention_rank, 0U);
}

TEST_F(AttentionRanksTest, EachRankHasBlocksOfItsOwn) {
  add_ranks(2, 4);
  submit(64);
  submit(32);
  EXPECT_TRUE(step());
  EXPECT_EQ(batches[0].shape.tokens, 64);
  EXPECT_EQ(batches[1].shape.tokens, 32);
  EXPECT_EQ(ranks.blocks_used(), 4 + 2);
  EXPECT_TRUE(ranks.can_hold(64));
  EXPECT_FALSE(ranks.can_hold(65)) << "a sequence stays on one rank";
  ranks.remove(sequences[0]);
  EXPECT_EQ(ranks.blocks_used(), 2);
}

// Two ranks decode. Every third step takes prompts, whenever they came, and any step does if both
// ranks have one or one has nothing to decode.
TEST_F(AttentionRanksTest, PromptsWaitForThoseOfOtherRanks) {
  Value waits;
  waits.set("rank_wait_steps", 3);
  add_ranks(2, 100, {}, "tensorrt_llm", waits);
  submit(32);
  EXPECT_TRUE(run_step());
  EXPECT_EQ(batches[0].shape.tokens, 32) << "nobody decodes on the other rank";
  submit(48);
  EXPECT_TRUE(run_step());
  EXPECT_EQ(batches[1].shape.tokens, 48) << "nobody decodes there yet";
  EXPECT_TRUE(run_step());  // the first step of a wait that no prompt asks for
  EXPECT_EQ(submit(16).attention_rank, 0U);
  for (const std::int64_t tokens : {1, 17}) {
    EXPECT_TRUE(run_step());
    EXPECT_EQ(batches[0].shape.tokens, tokens);
  }
  EXPECT_EQ(submit(16).attention_rank, 1U) << "ranks hold as many";
  EXPECT_TRUE(run_step());
  EXPECT_EQ(batches[1].shape.tokens, 1);
  EXPECT_EQ(submit(16).attention_rank, 0U) << "48 prompt tokens there, 64 here";
  EXPECT_TRUE(run_step());
  EXPECT_EQ(batches[0].shape.tokens, 18) << "both have one";
  EXPECT_EQ(batches[1].shape.tokens, 17);
}

// A slot for each: the prompts of both ranks do not begin before the steps are over, since one rank
// has no slot for its own.
TEST_F(AttentionRanksTest, PromptsWaitForSlotsOfAllRanks) {
  Value waits;
  waits.set("rank_wait_steps", 3);
  add_ranks(2, 100, {.batch_tokens_max = 8192, .sequences_max = 2}, "tensorrt_llm", waits);
  for (const std::int64_t prompt : {64, 32, 16}) submit(prompt);  // ranks 0, 1, 1
  EXPECT_TRUE(run_step());
  EXPECT_EQ(submit(16).attention_rank, 0U);
  EXPECT_EQ(submit(16).attention_rank, 1U);
  for (const std::int64_t tokens : {1, 1, 17}) {
    EXPECT_TRUE(run_step());
    EXPECT_EQ(batches[0].shape.tokens, tokens);
    EXPECT_EQ(batches[1].shape.tokens, 2);
  }
}

// TensorRT-LLM: whose sequence has ended takes the next one, whatever the others hold; among ranks
// that hold as many the one with the fewest prompt tokens does.
TEST_F(AttentionRanksTest, RanksHoldAsManySequences) {
  add_ranks(2, 100, {}, "tensorrt_llm");
  EXPECT_EQ(submit(16).attention_rank, 0U);
  EXPECT_EQ(submit(64).attention_rank, 1U);
  EXPECT_EQ(submit(16).attention_rank, 0U) << "16 tokens there, 64 here";
  EXPECT_EQ(submit(16).attention_rank, 1U) << "two there";
  EXPECT_TRUE(step());
  ranks.remove(sequences[1]);
  EXPECT_EQ(submit(160).attention_rank, 1U);
  EXPECT_EQ(submit(16).attention_rank, 0U);
}

TEST_F(AttentionRanksTest, SglangTakesRanksInTurn) {
  add_ranks(3, 100, {}, "sglang");
  for (const std::size_t rank : {0U, 1U, 2U, 0U}) EXPECT_EQ(submit(32).attention_rank, rank);
  ranks.remove(sequences[1]);
  EXPECT_EQ(submit(32).attention_rank, 1U);
  EXPECT_EQ(submit(32).attention_rank, 2U) << "not where the fewest wait";
}

// A replica that computes prompts for others: the rank is drawn for each request, the same in every
// run; of 4,000 requests each of four ranks takes a quarter, give or take five deviations.
TEST_F(AttentionRanksTest, SglangDrawsRanksOfPromptsForOthers) {
  ranks = AttentionRanks(nullptr, true);
  add_ranks(4, 100'000, {}, "sglang");
  std::array<int, 4> taken{};
  int in_turn = 0;
  for (std::uint32_t id = 0; id < 4'000; ++id) {
    Sequence& sequence = sequences.emplace_back();
    sequence.record.id = {id};
    sequence.prompt_tokens = 16;
    sequence.output_tokens = 1;
    ranks.enqueue(sequence);
    ++taken[sequence.attention_rank];
    in_turn += sequence.attention_rank == id % 4;
  }
  for (const int count : taken) EXPECT_NEAR(count, 1'000, 5 * 27.4);
  EXPECT_NEAR(in_turn, 1'000, 5 * 27.4);
}

TEST_F(AttentionRanksTest, ARankWithoutWorkHasAnEmptyBatch) {
  add_ranks(2, 10);
  EXPECT_FALSE(step());
  submit(16);
  EXPECT_TRUE(step());
  EXPECT_FALSE(batches[0].empty());
  EXPECT_TRUE(batches[1].empty());
}

}  // namespace
}  // namespace foretoken
