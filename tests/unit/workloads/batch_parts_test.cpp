// Batches in parts: what is split by number, what by tokens, and that nothing gets lost.
#include "workloads/batch_parts.hpp"

#include <gtest/gtest.h>

#include <array>

namespace foretoken::batch_parts_test {
namespace {

BatchShape shape_of(std::vector<SequenceSlice> slices, bool lists) {
  BatchShape shape;
  shape.logit_rows = static_cast<std::int64_t>(slices.size());
  shape.attention = AttentionLoad::exact(std::move(slices));
  shape.tokens = shape.attention.query_tokens();
  if (!lists) shape.attention.sequences.clear();
  return shape;
}

std::pair<BatchShape, BatchShape> halves_of(const BatchShape& batch) {
  std::vector<BatchShape> parts = split_batch(batch, 2);
  return {parts[0], parts[1]};
}

TEST(HalfBatch, DecodesAreSplitByNumber) {
  for (const bool lists : {false, true}) {
    const auto [first, second] = halves_of(shape_of({{1, 100}, {1, 100}, {1, 100}}, lists));
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
    const auto [first, second] = halves_of(shape_of({{101, 151}}, lists));
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
    const auto [first, second] = halves_of(shape_of({{1, 70}}, lists));
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
        const auto [first, second] = halves_of(whole);
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

// 8 decodes and a prompt of 100 tokens in three: 3, 3 and 2 decodes; 34, 33 and 33 tokens, the last
// of which end where the prompt does.
TEST(BatchParts, AnyNumberOfThem) {
  std::vector<SequenceSlice> slices(8, {1, 500});
  slices.push_back({100, 150});
  for (const bool lists : {false, true}) {
    const std::vector<BatchShape> parts = split_batch(shape_of(slices, lists), 3);
    ASSERT_EQ(parts.size(), 3U);
    const std::array<std::int64_t, 3> decodes = {3, 3, 2}, tokens = {34, 33, 33},
                                      ends = {84, 117, 150};
    for (std::size_t part = 0; part < 3; ++part) {
      EXPECT_EQ(parts[part].attention.decode.sequences, decodes[part]) << lists << part;
      EXPECT_EQ(parts[part].attention.prefill.query_tokens, tokens[part]) << lists << part;
      EXPECT_EQ(parts[part].attention.prefill.context_tokens, ends[part]) << lists << part;
      EXPECT_EQ(parts[part].tokens, decodes[part] + tokens[part]);
      EXPECT_EQ(parts[part].logit_rows, 3);
    }
  }
}

TEST(BatchParts, AddUpWhateverTheMixtureAndTheirNumber) {
  for (int count = 1; count < 7; ++count) {
    for (int prompts = 0; prompts < 4; ++prompts) {
      for (int decodes = 0; decodes < 9; ++decodes) {
        std::vector<SequenceSlice> slices;
        for (int i = 0; i < prompts; ++i) slices.push_back({20 + 37 * i, 200 + 31 * i});
        for (int i = 0; i < decodes; ++i) slices.push_back({1, 300 + 11 * i});
        if (slices.empty()) continue;
        for (const bool lists : {false, true}) {
          const BatchShape whole = shape_of(slices, lists);
          std::int64_t tokens = 0, rows = 0, sequences = 0;
          double pairs = 0;
          for (const BatchShape& part : split_batch(whole, count)) {
            EXPECT_EQ(part.tokens, part.attention.query_tokens());
            tokens += part.tokens;
            rows += part.logit_rows;
            sequences += part.attention.decode.sequences;
            pairs += part.attention.prefill.causal_pairs;
          }
          EXPECT_EQ(tokens, whole.tokens);
          EXPECT_EQ(rows, whole.logit_rows);
          EXPECT_EQ(sequences, decodes);
          EXPECT_NEAR(pairs, whole.attention.prefill.causal_pairs, 1e-6);
        }
      }
    }
  }
}

TEST(BatchParts, ThoseThatNoRankHasTokensInAreLeftOut) {
  const std::vector<BatchShape> ranks = {
      shape_of({{1, 9}, {1, 9}}, true), shape_of({{1, 9}}, true), {}};
  const auto parts = split_ranks(ranks, 4);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0][0].tokens, 1);
  EXPECT_EQ(parts[0][1].tokens, 1);
  EXPECT_EQ(parts[1][0].tokens, 1);
  EXPECT_EQ(parts[1][1].tokens, 0);
  EXPECT_EQ(parts[1][2].tokens, 0);
}

}  // namespace
}  // namespace foretoken::batch_parts_test
