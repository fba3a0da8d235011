// Batches in halves: what is split by number, what by tokens, and that nothing gets lost.
#include "sim/serving/half_batch.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

BatchShape shape_of(std::vector<SequenceSlice> slices, bool lists) {
  BatchShape shape;
  shape.logit_rows = static_cast<std::int64_t>(slices.size());
  shape.attention = AttentionLoad::exact(std::move(slices));
  shape.tokens = shape.attention.query_tokens();
  if (!lists) shape.attention.sequences.clear();
  return shape;
}

TEST(HalfBatch, DecodesAreSplitByNumber) {
  for (const bool lists : {false, true}) {
    const auto [first, second] = split_in_half(shape_of({{1, 100}, {1, 100}, {1, 100}}, lists));
    EXPECT_EQ(first.tokens, 2);
    EXPECT_EQ(second.tokens, 1);
    EXPECT_EQ(first.logit_rows, 2);
    EXPECT_EQ(second.logit_rows, 1);
    EXPECT_EQ(first.attention.decode.context_tokens, 200);
    EXPECT_EQ(second.attention.decode.context_tokens, 100);
  }
}

// 101 tokens behind 50 cached: 51 tokens that end at 101, then 50 that end at 151.
TEST(HalfBatch, ALonePromptIsCutInTwoChunks) {
  for (const bool lists : {false, true}) {
    const auto [first, second] = split_in_half(shape_of({{101, 151}}, lists));
    EXPECT_EQ(first.tokens, 51);
    EXPECT_EQ(second.tokens, 50);
    EXPECT_EQ(first.attention.prefill.context_tokens, 101);
    EXPECT_EQ(second.attention.prefill.context_tokens, 151);
    EXPECT_EQ(first.attention.prefill.causal_pairs + second.attention.prefill.causal_pairs,
              causal_pairs({101, 151}));
  }
}

TEST(HalfBatch, OneTokenLeavesTheSecondHalfEmpty) {
  for (const bool lists : {false, true}) {
    const auto [first, second] = split_in_half(shape_of({{1, 70}}, lists));
    EXPECT_EQ(first.tokens, 1);
    EXPECT_EQ(second.tokens, 0);
    EXPECT_EQ(second.logit_rows, 0);
  }
}

TEST(HalfBatch, HalvesAddUpWhateverTheMixture) {
  for (int prompts = 0; prompts < 4; ++prompts) {
    for (int decodes = 0; decodes < 4; ++decodes) {
      std::vector<SequenceSlice> slices;
      for (int i = 0; i < prompts; ++i) slices.push_back({100 + 7 * i, 200 + 31 * i});
      for (int i = 0; i < decodes; ++i) slices.push_back({1, 300 + 11 * i});
      for (const bool lists : {false, true}) {
        const BatchShape whole = shape_of(slices, lists);
        const auto [first, second] = split_in_half(whole);
        EXPECT_EQ(first.tokens + second.tokens, whole.tokens);
        EXPECT_EQ(first.logit_rows + second.logit_rows, whole.logit_rows);
        EXPECT_EQ(first.attention.decode.sequences + second.attention.decode.sequences, decodes);
        EXPECT_NEAR(first.attention.prefill.causal_pairs + second.attention.prefill.causal_pairs,
                    whole.attention.prefill.causal_pairs, 1e-6);
        EXPECT_GE(first.tokens, second.tokens);
        if (lists && prompts > 0) {
          EXPECT_LE(first.tokens, second.tokens + 3);  // by tokens, not by prompts
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
