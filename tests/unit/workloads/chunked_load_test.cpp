// Chunks of attention by hand: which part of which chunk a slice touches.
#include "workloads/chunked_load.hpp"

#include <gtest/gtest.h>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

// A prompt of 20 tokens in chunks of 8: two whole ones and half a third.
TEST(ChunkedLoad, PromptsAreCut) {
  const AttentionLoad cut = chunked_load(AttentionLoad::exact({{20, 20}}), 8);
  const std::vector<SequenceSlice> parts = {{8, 8}, {8, 8}, {4, 4}};
  EXPECT_EQ(cut.sequences, parts);
  EXPECT_EQ(cut.prefill.sequences, 3);
  EXPECT_EQ(attention_pairs(cut, true, 0), 36 + 36 + 10);
}

// Five more tokens behind 6: two in the first chunk, which they see whole, three in the second.
TEST(ChunkedLoad, CachedTokensOfTheSameChunkAreSeen) {
  const AttentionLoad cut = chunked_load(AttentionLoad::exact({{5, 11}}), 8);
  const std::vector<SequenceSlice> parts = {{2, 8}, {3, 3}};
  EXPECT_EQ(cut.sequences, parts);
}

TEST(ChunkedLoad, DecodesSeeTheirChunk) {
  const AttentionLoad cut = chunked_load(AttentionLoad::exact({{1, 8}, {1, 9}, {1, 30}}), 8);
  const std::vector<SequenceSlice> parts = {{1, 8}, {1, 1}, {1, 6}};
  EXPECT_EQ(cut.sequences, parts);
  EXPECT_EQ(cut.decode.context_tokens, 15);
}

TEST(ChunkedLoad, SumsStandForSequencesAlike) {
  AttentionLoad sums = AttentionLoad::exact({{20, 20}, {20, 20}});
  const AttentionLoad exact = chunked_load(sums, 8);
  sums.sequences.clear();
  EXPECT_EQ(chunked_load(sums, 8).prefill, exact.prefill);
  AttentionLoad decodes = AttentionLoad::exact({{1, 1001}, {1, 3001}});
  decodes.sequences.clear();
  EXPECT_EQ(chunked_load(decodes, 8).decode.context_tokens, 8);  // half a chunk each
  EXPECT_EQ(chunked_load(decodes, 4096).decode, decodes.decode);
}

}  // namespace
}  // namespace foretoken
