// Pair counts against the sum they are a closed form of, and the sums of a load.
#include "kernels/attention_load.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

double pairs_by_walking(const SequenceSlice& slice, std::int64_t window) {
  double pairs = 0;
  for (std::int64_t i = 0; i < slice.query_tokens; ++i) {
    const std::int64_t seen = slice.context_tokens - slice.query_tokens + 1 + i;
    pairs += static_cast<double>(window > 0 ? std::min(seen, window) : seen);
  }
  return pairs;
}

TEST(CausalPairs, ByHand) {
  // A fresh prompt of 4: 1 + 2 + 3 + 4.
  EXPECT_EQ(causal_pairs({4, 4}), 10);
  // 3 new tokens after 5 cached: 6 + 7 + 8.
  EXPECT_EQ(causal_pairs({3, 8}), 21);
  // One decoding token sees its whole context.
  EXPECT_EQ(causal_pairs({1, 1000}), 1000);
  // Window 2 on a prompt of 4: 1 + 2 + 2 + 2.
  EXPECT_EQ(causal_pairs({4, 4}, 2), 7);
}

TEST(CausalPairs, EqualTheSumOverQueries) {
  for (const std::int64_t queries : {1, 2, 3, 7, 16, 33}) {
    for (const std::int64_t cached : {0, 1, 5, 16, 40}) {
      for (const std::int64_t window : {0, 1, 2, 8, 17, 100}) {
        const SequenceSlice slice{queries, queries + cached};
        EXPECT_EQ(causal_pairs(slice, window), pairs_by_walking(slice, window))
            << queries << " queries, " << cached << " cached, window " << window;
      }
    }
  }
}

TEST(CausalPairs, StayExactForAMillionTokens) {
  EXPECT_EQ(causal_pairs({1'000'000, 1'000'000}), 500'000'500'000.0);
}

TEST(CausalPairs, RefuseAContextThatLacksItsQueries) {
  EXPECT_THROW(causal_pairs({5, 4}), InternalError);
}

TEST(AttentionLoad, ExactSumsPrefillAndDecodeApart) {
  const AttentionLoad load = AttentionLoad::exact({{4, 4}, {1, 100}, {3, 8}, {1, 7}});
  EXPECT_EQ(load.prefill, (LoadSums{.sequences = 2,
                                    .query_tokens = 7,
                                    .context_tokens = 12,
                                    .context_tokens_max = 8,
                                    .query_tokens_max = 4,
                                    .causal_pairs = 31}));
  EXPECT_EQ(load.decode, (LoadSums{.sequences = 2,
                                   .query_tokens = 2,
                                   .context_tokens = 107,
                                   .context_tokens_max = 100,
                                   .query_tokens_max = 1,
                                   .causal_pairs = 107}));
  EXPECT_EQ(load.query_tokens(), 9);
  EXPECT_EQ(load.sequences.size(), 4U);
}

}  // namespace
}  // namespace foretoken
