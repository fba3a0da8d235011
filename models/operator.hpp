// What a model consists of: operators with kinds and unsharded shapes, and what counts over all of
// them. How they hang together is a graph (operator_graph.hpp), which few need and which costs a
// second of compile time.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/transformer.hpp"

namespace foretoken {

enum class OperatorKind {
  embedding,  // width = hidden, vocabulary rows
  norm,       // RMSNorm; after a residual add when `fused_add`
  linear,     // in -> out features
  qk_norm,
  rope,
  kv_write,
  head_projection,  // latent attention: each head's own in -> out features, for decodes
  attention,
  activation,  // SiLU(gate) * up, or GELU in place of SiLU, which costs the same
  addition,    // of two results of that width, or a gate's product with one, which costs the same
  topk_routing,
  experts,  // the routed experts together
  key_indexer,
  state_convolution,
  state_scan,
  state_norm,  // of each head that a recurrence puts out, times a gate
  hyper_connection,
  sampling,
};

/// How tensor parallelism cuts an operator's weights: not at all, its outputs (column), its inputs
/// (row: each rank is left with a partial sum), or the rows of the vocabulary.
enum class Shard { replicated, column, row, vocabulary };

/// What a linear operator's weights belong to, which decides their format; `plain` ones (routers,
/// LM heads) are in 16 bit.
enum class WeightPart { plain, mlp, attention, shared_expert };

/// The format of a part's weights.
DType format_of(WeightPart part, const WeightFormats& formats);

struct Operator {
  OperatorKind kind = OperatorKind::linear;
  std::string_view role;  // "qkv_proj": names a row of every table of kernels
  Shard shard = Shard::replicated;
  std::int64_t in_features = 0;   // linear: input width; norm, activation, embedding: width
  std::int64_t out_features = 0;  // linear: output width; experts: width of one expert
  bool bias = false;
  bool fused_add = false;
  WeightPart part = WeightPart::plain;  // linear
  /// linear: columns are cut by heads, and KV heads replicate when TP exceeds them.
  /// norm: spans all heads together, so that the ranks' heads are gathered first (OLMoE).
  bool heads = false;
  /// Router, top-k, shared and routed experts: what works on tokens once they leave attention.
  bool of_moe = false;
  /// Role of the all-reduce that adds up the ranks' partial sums right after the operator; "" =
  /// none. (A shared expert's sum waits for the routed experts'.)
  std::string_view all_reduce = {};
  /// What belongs to attention, qkv_proj and the norms of heads included: the layer's heads.
  AttentionShape attention = {};
  StateShape state = {};             // of a recurrence and what belongs to it
  HyperPart hyper = HyperPart::pre;  // hyper_connection
  std::int64_t parameters = 0;       // weights it owns, unsharded; a tied LM head owns none
};

/// All parameters, counted over the graphs; tied embeddings once.
std::int64_t parameter_count(const Transformer& model);
/// Parameters that one token passes through: all of them but the experts that are not among its top
/// k. The embedding and the LM head count, as in the figures that Mistral (12.9e9 for Mixtral 8x7B)
/// and Qwen (3.3e9 for Qwen3-30B-A3B) publish.
std::int64_t active_parameter_count(const Transformer& model);
/// Columns of the product that makes queries, keys and values of so many heads.
std::int64_t qkv_width(const AttentionShape& shape, int query_heads, int kv_heads);

}  // namespace foretoken
