#include "sim/serving/kv_shards.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "models/sequence_memory.hpp"

namespace foretoken {
namespace {

/// How many heads of layer `layer` ranks share out; latent attention has one latent for all.
int shared_heads(const Transformer& model, int layer) {
  return model.mla || model.compressed ? 1 : model.attention(layer).kv_heads;
}

/// Layers that share out as many heads, together.
struct KvHeads {
  int count = 1;
  std::vector<int> layers;
};

std::vector<KvHeads> heads_of_layers(const Transformer& model) {
  std::vector<KvHeads> groups;
  for (int layer = 0; layer < model.layers; ++layer) {
    if (cached_elements(model, layer, 1) == 0) continue;
    const int count = shared_heads(model, layer);
    const auto found = std::ranges::find(groups, count, &KvHeads::count);
    KvHeads& group = found == groups.end() ? groups.emplace_back(KvHeads{count, {}}) : *found;
    group.layers.push_back(layer);
  }
  return groups;
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

/// From rank, to rank, heads.
using RankPairs = std::vector<std::tuple<int, int, int>>;

RankPairs rank_pairs(int heads, const ParallelLayout& from, const ParallelLayout& to) {
  const HeadSplit sending{heads, from.tensor};
  const HeadSplit receiving{heads, to.tensor};
  RankPairs pairs;
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
  return pairs;
}

/// Ranks that hold a head together have every token in turn: of two such groups, those pairs meet
/// whose turns coincide, each in one token of as many as the turns take to repeat.
struct Turns {
  int from, to;  // ranks that take turns

  [[nodiscard]] int period() const { return std::lcm(from, to); }
  [[nodiscard]] bool meet(int source, int rank) const {
    return (source - rank) % std::gcd(from, to) == 0;
  }
};

/// Values that a token has of one head, over those of `layers` that are in `range`.
std::int64_t elements_of(const Transformer& model, const std::vector<int>& layers,
                         const LayerRange& range) {
  std::int64_t elements = 0;
  for (const int layer : layers) {
    if (layer >= range.first && layer < range.end) elements += cached_elements(model, layer, 1);
  }
  return elements;
}

/// Adds to the shard between the same GPUs if there is one.
void add_shard(std::vector<KvShard>& shards, const KvShard& shard) {
  const auto place = [](const KvShard& s) {
    return std::tuple(s.from_stage, s.to_stage, s.from_rank, s.to_rank);
  };
  const auto found = std::ranges::lower_bound(shards, place(shard), {}, place);
  if (found != shards.end() && place(*found) == place(shard)) {
    found->bytes_per_token += shard.bytes_per_token;
  } else {
    shards.insert(found, shard);
  }
}

}  // namespace

std::vector<KvShard> kv_shards(const Transformer& model, const ParallelLayout& from,
                               const ParallelLayout& to, DType kv_dtype) {
  std::vector<KvShard> shards;
  for (const KvHeads& heads : heads_of_layers(model)) {
    const RankPairs pairs = rank_pairs(heads.count, from, to);
    for (int from_stage = 0; from_stage < from.pipeline; ++from_stage) {
      for (int to_stage = 0; to_stage < to.pipeline; ++to_stage) {
        const LayerRange layers =
            common_layers(stage_layers(model, from, from_stage), stage_layers(model, to, to_stage));
        const auto elements = static_cast<double>(elements_of(model, heads.layers, layers));
        if (elements == 0) continue;
        const Turns turns{from.decode_context, to.decode_context};
        for (const auto& [source, rank, count] : pairs) {
          const Bytes bytes(elements * bytes_per_element(kv_dtype) * count / turns.period());
          const int first = source / turns.from * turns.from;
          for (int turn = 0; turn < turns.from; ++turn) {
            if (!turns.meet(turn, rank % turns.to)) continue;
            add_shard(shards, {from_stage, first + turn, to_stage, rank, layers, bytes});
          }
        }
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
