// How a model is cut over the GPUs of one replica: tensor, pipeline and expert parallelism, as vLLM
// shards (KV heads replicate when TP exceeds them; vocabulary padded to a multiple of 64).
// Experts are spread over the tensor-parallel ranks: `expert` groups of ranks hold whole experts,
// and the tensor / expert ranks of a group cut each expert's width.
#pragma once

#include <cstdint>

#include "models/operator_graph.hpp"
#include "models/transformer.hpp"

namespace foretoken {

struct ParallelLayout {
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;  // ranks that share the experts; divides tensor
  bool data_parallel_attention = false;

  [[nodiscard]] int ranks() const { return tensor * pipeline; }
};

/// Half-open range of layers.
struct LayerRange {
  int first = 0, end = 0;
  [[nodiscard]] int count() const { return end - first; }
};

/// Layers of pipeline stage `stage` (from 0). When layers do not divide, the remainder goes one
/// each to the stages from the last but one backwards (the last also holds the LM head), as vLLM
/// does.
LayerRange stage_layers(const Transformer& model, const ParallelLayout& layout, int stage);

/// Adds a diagnostic at `position` for every way in which `layout` does not fit `model`: TP that
/// does not divide the query heads, MLP width or padded vocabulary, KV heads that neither divide
/// nor are divided by TP, more stages than layers, EP that does not divide the experts or TP. Each
/// says which values fit. All functions below need a layout that fits.
void check_layout(const Transformer& model, const ParallelLayout& layout,
                  const SourcePosition& position, Diagnostics& diagnostics);

int query_heads_per_rank(const Transformer& model, const ParallelLayout& layout);
/// At least 1: KV heads replicate when TP exceeds them.
int kv_heads_per_rank(const Transformer& model, const ParallelLayout& layout);
/// The vocabulary padded to a multiple of 64: rows of the embedding and the LM head over all ranks.
std::int64_t padded_vocabulary(const Transformer& model);

/// Features of one rank's part of a weight matrix.
struct LinearShape {
  std::int64_t in_features = 0, out_features = 0;
};
/// One rank's part of a linear operator, for its GEMM as well as its bytes.
LinearShape shape_per_rank(const Operator& linear, const Transformer& model,
                           const ParallelLayout& layout);

/// Weight bytes on one rank of `stage` (embedding on the first, LM head on the last stage). `dtype`
/// holds for the linear layers and the experts; embedding, LM head, norms, biases and router stay
/// in activation_dtype(dtype), as in released FP8 checkpoints.
Bytes weight_bytes_per_rank(const Transformer& model, const ParallelLayout& layout, int stage,
                            DType dtype);
/// KV bytes of one token on one rank of `stage`.
Bytes kv_bytes_per_token_per_rank(const Transformer& model, const ParallelLayout& layout, int stage,
                                  DType kv_dtype);

}  // namespace foretoken
