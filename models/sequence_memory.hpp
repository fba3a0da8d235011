// What a model keeps of a sequence while it is served, by kind of layer: keys and values of every
// token, of the latest tokens alone (sliding windows), or a state of one size however long the
// sequence is. What prices and memory plans of an engine add up; scales of narrow caches other than
// an index's are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "models/parallel_layout.hpp"
#include "models/transformer.hpp"

namespace foretoken {

/// What one layer keeps, for `kv_heads` of its heads and one rank in `tensor`.
struct LayerMemory {
  Bytes per_token;         // of every token
  Bytes per_window_token;  // of the latest `window` tokens
  std::int64_t window = 0;
  Bytes state;
};
LayerMemory layer_memory(const Transformer& model, int layer, int kv_heads, int tensor,
                         DType kv_dtype);

/// One rank's part of a sequence.
struct SequenceMemory {
  struct Window {
    std::int64_t tokens = 0;
    Bytes per_token;
  };
  Bytes per_token;
  std::vector<Window> windows;
  Bytes state;

  /// What is kept beside `per_token` of each.
  [[nodiscard]] Bytes beside(std::int64_t tokens) const;
};
/// A model all of whose attention has windows keeps its tokens (per_token), since nothing else
/// grows.
SequenceMemory sequence_memory_per_rank(const Transformer& model, const ParallelLayout& layout,
                                        int stage, DType kv_dtype);

/// Values that layer `layer` caches of a token for `kv_heads` of its heads, while it is within the
/// layer's window; latent attention has one latent for all. An index's keys count as they are.
std::int64_t cached_elements(const Transformer& model, int layer, int kv_heads);
/// Key and value bytes of one token over all layers, unsharded: with latent attention, those of the
/// latent and the rotary key.
Bytes kv_bytes_per_token(const Transformer& model, DType kv_dtype);
/// KV bytes of one token on one rank of `stage` that has the token.
Bytes kv_bytes_per_token_per_rank(const Transformer& model, const ParallelLayout& layout, int stage,
                                  DType kv_dtype);

}  // namespace foretoken
