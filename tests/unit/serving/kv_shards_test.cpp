// Who sends which part of a KV cache to whom, by hand.

#include "sim/serving/kv_shards.hpp"

#include <gtest/gtest.h>

#include <map>

#include "models/sequence_memory.hpp"

namespace foretoken {
namespace {

/// 4 layers, 8 KV heads of 128: 2 * 128 * 2 B = 512 B a token, layer and head in bf16.
Transformer grouped_queries() {
  Transformer model;
  model.layers = 4;
  model.query_heads = 32;
  model.kv_heads = 8;
  model.head_dim = 128;
  return model;
}

Transformer latent() {
  Transformer model = grouped_queries();
  model.mla.emplace();
  model.mla->kv_rank = 512;
  model.mla->rope_dim = 64;
  return model;
}

using Pairs = std::map<std::pair<int, int>, double>;  // bytes by ranks

Pairs by_ranks(const std::vector<KvShard>& shards) {
  Pairs pairs;
  for (const KvShard& shard : shards)
    pairs[{shard.from_rank, shard.to_rank}] += shard.bytes_per_token.value();
  return pairs;
}

TEST(KvShards, EqualLayoutsSendRankToRank) {
  const auto shards = kv_shards(grouped_queries(), {.tensor = 4}, {.tensor = 4}, DType::bf16);
  // 2 heads a rank, 4 layers.
  EXPECT_EQ(by_ranks(shards),
            (Pairs{{{0, 0}, 4096}, {{1, 1}, 4096}, {{2, 2}, 4096}, {{3, 3}, 4096}}));
  EXPECT_EQ(bytes_per_token(shards), Bytes(4 * 8 * 512));
}

TEST(KvShards, Fp8IsHalfOfBf16) {
  const auto shards = kv_shards(grouped_queries(), {.tensor = 2}, {.tensor = 2}, DType::fp8);
  EXPECT_EQ(bytes_per_token(shards), Bytes(4 * 8 * 256));
}

TEST(KvShards, FewerRanksGatherFromSeveral) {
  const auto shards = kv_shards(grouped_queries(), {.tensor = 4}, {.tensor = 2}, DType::bf16);
  EXPECT_EQ(by_ranks(shards),
            (Pairs{{{0, 0}, 4096}, {{1, 0}, 4096}, {{2, 1}, 4096}, {{3, 1}, 4096}}));
}

TEST(KvShards, MoreRanksSplitWhatOneHas) {
  const auto shards = kv_shards(grouped_queries(), {.tensor = 1}, {.tensor = 4}, DType::bf16);
  EXPECT_EQ(by_ranks(shards),
            (Pairs{{{0, 0}, 4096}, {{0, 1}, 4096}, {{0, 2}, 4096}, {{0, 3}, 4096}}));
}

TEST(KvShards, RanksBeyondTheHeadsHoldCopies) {
  // 16 ranks for 8 heads on both sides: each takes its own copy.
  auto shards = kv_shards(grouped_queries(), {.tensor = 16}, {.tensor = 16}, DType::bf16);
  for (const KvShard& shard : shards) EXPECT_EQ(shard.from_rank, shard.to_rank);
  EXPECT_EQ(bytes_per_token(shards), Bytes(4 * 16 * 512));  // each head twice
  // From 8 to 16: rank 3's head goes to 6 and 7.
  shards = kv_shards(grouped_queries(), {.tensor = 8}, {.tensor = 16}, DType::bf16);
  for (const KvShard& shard : shards) EXPECT_EQ(shard.from_rank, shard.to_rank / 2);
  // From 16 to 8: one of the two copies is sent.
  shards = kv_shards(grouped_queries(), {.tensor = 16}, {.tensor = 8}, DType::bf16);
  for (const KvShard& shard : shards) EXPECT_EQ(shard.from_rank, 2 * shard.to_rank);
  EXPECT_EQ(bytes_per_token(shards), Bytes(4 * 8 * 512));
}

TEST(KvShards, LatentAttentionSendsTheWholeToEveryRank) {
  auto shards = kv_shards(latent(), {.tensor = 4}, {.tensor = 4}, DType::bf16);
  for (const KvShard& shard : shards) EXPECT_EQ(shard.from_rank, shard.to_rank);
  EXPECT_EQ(bytes_per_token(shards), Bytes(4 * 4 * (512 + 64) * 2));  // 4 copies of 4 layers
  shards = kv_shards(latent(), {.tensor = 8}, {.tensor = 1}, DType::bf16);
  EXPECT_EQ(bytes_per_token(shards), Bytes(4 * (512 + 64) * 2));
}

TEST(KvShards, StagesSendTheLayersTheyShare) {
  // 4 layers: 2 + 2 there, 1 + 1 + 1 + 1 here.
  const auto shards = kv_shards(grouped_queries(), {.pipeline = 2}, {.pipeline = 4}, DType::bf16);
  ASSERT_EQ(shards.size(), 4U);
  for (const KvShard& shard : shards) {
    EXPECT_EQ(shard.from_stage, shard.to_stage / 2);
    EXPECT_EQ(shard.layers.first, shard.to_stage);
    EXPECT_EQ(shard.bytes_per_token, Bytes(8 * 512));
  }
}

// A latent of 576 values in 4 layers: 4,608 B a token. Two ranks that hold every other token send
// each of four, with every fourth, those that both have.
TEST(KvShards, RanksThatShareContextsSendWhatTheOtherHolds) {
  const auto shards = kv_shards(latent(), {.tensor = 2, .decode_context = 2},
                                {.tensor = 4, .decode_context = 4}, DType::bf16);
  EXPECT_EQ(by_ranks(shards),
            (Pairs{{{0, 0}, 1152}, {{1, 1}, 1152}, {{0, 2}, 1152}, {{1, 3}, 1152}}));
}

TEST(KvShards, ReceiversThatShareContextsGetTheirPart) {
  for (const int from : {1, 2, 4}) {
    for (const int to : {1, 2, 4, 8}) {
      const ParallelLayout target{.tensor = 8, .decode_context = to};
      const auto shards =
          kv_shards(latent(), {.tensor = 4, .decode_context = from}, target, DType::bf16);
      std::map<int, double> got;
      for (const KvShard& shard : shards) got[shard.to_rank] += shard.bytes_per_token.value();
      ASSERT_EQ(got.size(), 8U);
      for (const auto& [rank, bytes] : got) EXPECT_DOUBLE_EQ(bytes, 4608.0 / to);
    }
  }
}

TEST(KvShards, EveryReceiverGetsWhatItHolds) {
  for (const Transformer& model : {grouped_queries(), latent()}) {
    for (const int from : {1, 2, 4, 8, 16}) {
      for (const int to : {1, 2, 4, 8, 16}) {
        const ParallelLayout target{.tensor = to, .pipeline = 2};
        const auto shards = kv_shards(model, {.tensor = from}, target, DType::bf16);
        for (int stage = 0; stage < 2; ++stage) {
          for (int rank = 0; rank < to; ++rank) {
            Bytes got;
            for (const KvShard& shard : shards) {
              if (shard.to_stage == stage && shard.to_rank == rank) got += shard.bytes_per_token;
              EXPECT_LT(shard.from_rank, from);
            }
            EXPECT_EQ(got, kv_bytes_per_token_per_rank(model, target, stage, DType::bf16))
                << from << " to " << to;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
