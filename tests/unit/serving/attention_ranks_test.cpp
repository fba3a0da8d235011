// Attention ranks: who takes a sequence, and that ranks keep what is theirs.
#include "sim/serving/attention_ranks.hpp"

#include <gtest/gtest.h>

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

// Two ranks decode, and one has a prompt. It begins when the other has one too, or after two steps;
// a rank with nothing to decode ends the wait at once.
TEST_F(AttentionRanksTest, PromptsWaitForThoseOfOtherRanks) {
  Value waits;
  waits.set("rank_wait_steps", 2);
  add_ranks(2, 100, {}, "tensorrt_llm", waits);
  submit(32);
  EXPECT_TRUE(run_step());
  EXPECT_EQ(batches[0].shape.tokens, 32) << "nobody decodes on the other rank";
  submit(48);
  EXPECT_TRUE(run_step());
  EXPECT_EQ(batches[1].shape.tokens, 48) << "nobody decodes there yet";
  EXPECT_EQ(submit(16).attention_rank, 0U);
  for (const std::int64_t tokens : {1, 1, 17}) {
    EXPECT_TRUE(run_step());
    EXPECT_EQ(batches[0].shape.tokens, tokens);
  }
  EXPECT_EQ(submit(16).attention_rank, 1U);
  EXPECT_TRUE(run_step());
  EXPECT_EQ(batches[1].shape.tokens, 1);
  EXPECT_EQ(submit(16).attention_rank, 0U);
  EXPECT_TRUE(run_step());
  EXPECT_EQ(batches[0].shape.tokens, 18) << "both have one";
  EXPECT_EQ(batches[1].shape.tokens, 17);
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
