// A sequence's KV cache on two replicas with layouts of their own: which GPU of the one has what a
// GPU of the other needs. Tensor-parallel ranks hold KV heads (or, of latent attention, each the
// whole), pipeline stages hold layers; where layouts differ, a rank takes its part from several,
// and of copies each rank takes another where it can (vLLM's NixlConnector and SGLang's Mooncake
// backend move heads from rank to rank likewise). Ranks that share contexts have every token in
// turn. It knows neither tokens nor time.
#pragma once

#include <vector>

#include "models/parallel_layout.hpp"

namespace foretoken {

/// What one GPU sends to one other. Ranks are tensor-parallel ones of the sequence's attention
/// rank.
struct KvShard {
  int from_stage = 0, from_rank = 0;
  int to_stage = 0, to_rank = 0;
  LayerRange layers;      // of the model
  Bytes bytes_per_token;  // of all these layers
};

/// In order of the stage and rank that send, then of those that receive. Both layouts fit `model`.
std::vector<KvShard> kv_shards(const Transformer& model, const ParallelLayout& from,
                               const ParallelLayout& to, DType kv_dtype);

/// Of one token, over all that is sent: copies on the receiving side count as often as they are.
Bytes bytes_per_token(const std::vector<KvShard>& shards);

}  // namespace foretoken
