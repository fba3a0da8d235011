#include "sim/serving/kv_shards.hpp"

#include <algorithm>
#include <tuple>

namespace foretoken {
namespace {

/// What ranks share out: KV heads, or the one latent that all of them hold.
struct KvHeads {
  int count = 1;
  double bytes = 0;  // of a token in one layer
};

KvHeads kv_heads(const Transformer& model, DType kv_dtype) {
  const double element = bytes_per_element(kv_dtype);
  if (model.mla) return {1, element * (model.mla->kv_rank + model.mla->rope_dim)};
  return {model.kv_heads, element * 2.0 * model.head_dim};
}

/// How `ranks` hold `heads`: a run of heads each, or a run of ranks one head.
struct HeadSplit {
  int heads, ranks;

  [[nodiscard]] int first_head(int rank) const { return rank * heads / ranks; }
  [[nodiscard]] int head_count() const { return std::max(1, heads / ranks); }
  [[nodiscard]] int copies() const { return std::max(1, ranks / heads); }
  /// The rank that has the `copy`-th copy of a head.
  [[nodiscard]] int rank_with(int head, int copy) const { return head * ranks / heads + copy; }
  [[nodiscard]] int copy_on(int rank) const { return rank - rank_with(first_head(rank), 0); }
};

LayerRange common_layers(const LayerRange& a, const LayerRange& b) {
  return {std::max(a.first, b.first), std::max(std::max(a.first, b.first), std::min(a.end, b.end))};
}

}  // namespace

std::vector<KvShard> kv_shards(const Transformer& model, const ParallelLayout& from,
                               const ParallelLayout& to, DType kv_dtype) {
  const KvHeads heads = kv_heads(model, kv_dtype);
  const HeadSplit sending{heads.count, from.tensor};
  const HeadSplit receiving{heads.count, to.tensor};
  // Heads by pair of ranks, the same in all layers.
  std::vector<std::tuple<int, int, int>> pairs;  // from rank, to rank, heads
  for (int rank = 0; rank < to.tensor; ++rank) {
    const int copy = receiving.copy_on(rank) * sending.copies() / receiving.copies();
    for (int i = 0; i < receiving.head_count(); ++i) {
      const int source = sending.head_count() > 1
                             ? (receiving.first_head(rank) + i) / sending.head_count()
                             : sending.rank_with(receiving.first_head(rank) + i, copy);
      if (!pairs.empty() && std::get<0>(pairs.back()) == source &&
          std::get<1>(pairs.back()) == rank) {
        ++std::get<2>(pairs.back());
      } else {
        pairs.emplace_back(source, rank, 1);
      }
    }
  }
  std::ranges::sort(pairs);
  std::vector<KvShard> shards;
  for (int from_stage = 0; from_stage < from.pipeline; ++from_stage) {
    for (int to_stage = 0; to_stage < to.pipeline; ++to_stage) {
      const LayerRange layers = common_layers(stage_layers(model, from, from_stage),
                                              stage_layers(model, to, to_stage));
      if (layers.count() == 0) continue;
      for (const auto& [source, rank, count] : pairs) {
        shards.push_back({from_stage, source, to_stage, rank, layers,
                          Bytes(heads.bytes * count * layers.count())});
      }
    }
  }
  return shards;
}

Bytes bytes_per_token(const std::vector<KvShard>& shards) {
  Bytes sum;
  for (const KvShard& shard : shards) sum += shard.bytes_per_token;
  return sum;
}

}  // namespace foretoken
