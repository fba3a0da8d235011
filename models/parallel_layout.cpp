// Shards a model: layers by stage, shapes and bytes by rank. Whether a layout fits is
// check_layout.cpp's.
#include "models/parallel_layout.hpp"

#include <algorithm>

namespace foretoken {
namespace {

/// vLLM pads the vocabulary so that every TP up to 64 divides it (DEFAULT_VOCAB_PADDING_SIZE).
constexpr std::int64_t vocabulary_padding = 64;

/// Parameters of one rank, split by the format they are stored in.
struct ParameterSplit {
  std::int64_t quantised = 0;  // in the weights' dtype
  std::int64_t plain = 0;      // in 16 bit

  ParameterSplit& operator+=(const ParameterSplit& other) {
    quantised += other.quantised;
    plain += other.plain;
    return *this;
  }
};

ParameterSplit linear_parameters(const Operator& op, const Transformer& model,
                                 const ParallelLayout& layout) {
  const LinearShape shape = shape_per_rank(op, model, layout);
  const std::int64_t weights = shape.in_features * shape.out_features;
  ParameterSplit split;
  const bool is_quantised = op.shard == Shard::column || op.shard == Shard::row;
  (is_quantised ? split.quantised : split.plain) = weights;
  if (op.bias) split.plain += shape.out_features;
  return split;
}

ParameterSplit layer_parameters(const Operator& op, const Transformer& model,
                                const ParallelLayout& layout) {
  switch (op.kind) {
    case OperatorKind::linear:
      return linear_parameters(op, model, layout);
    case OperatorKind::experts:
      return {.quantised = op.parameters / layout.tensor};  // ep whole shares of tp / ep slices
    default:
      return {.plain = op.parameters};  // norms: every rank has them whole
  }
}

ParameterSplit graph_parameters(const OperatorGraph& graph, const Transformer& model,
                                const ParallelLayout& layout) {
  ParameterSplit split;
  for (const Operator& op : launch_order(graph)) {
    if (op.shard != Shard::vocabulary) split += layer_parameters(op, model, layout);
  }
  return split;
}

/// Embedding on the first stage, LM head on the last; tied, they share where they meet, and the
/// last stage has a copy of its own where they do not.
std::int64_t vocabulary_matrices(const Transformer& model, const ParallelLayout& layout,
                                 int stage) {
  const bool is_first = stage == 0;
  const bool is_last = stage == layout.pipeline - 1;
  if (is_first && is_last) return model.tied_embeddings ? 1 : 2;
  return is_first || is_last ? 1 : 0;
}

}  // namespace

LayerRange stage_layers(const Transformer& model, const ParallelLayout& layout, int stage) {
  FORETOKEN_CHECK(stage >= 0 && stage < layout.pipeline, "stage {} of {}", stage, layout.pipeline);
  const int base = model.layers / layout.pipeline;
  const int remainder = model.layers % layout.pipeline;
  // The stages with one layer more are the `remainder` before the last.
  const int first_longer = layout.pipeline - 1 - remainder;
  const auto begin = [&](int s) { return s * base + std::clamp(s - first_longer, 0, remainder); };
  return {begin(stage), begin(stage + 1)};
}

int query_heads_per_rank(const Transformer& model, const ParallelLayout& layout) {
  return model.query_heads / layout.tensor;
}

int kv_heads_per_rank(const Transformer& model, const ParallelLayout& layout) {
  return std::max(model.kv_heads / layout.tensor, 1);
}

std::int64_t padded_vocabulary(const Transformer& model) {
  return (model.vocabulary + vocabulary_padding - 1) / vocabulary_padding * vocabulary_padding;
}

LinearShape shape_per_rank(const Operator& linear, const Transformer& model,
                           const ParallelLayout& layout) {
  FORETOKEN_CHECK(linear.kind == OperatorKind::linear, "{} is no linear operator", linear.role);
  LinearShape shape{linear.in_features, linear.out_features};
  switch (linear.shard) {
    case Shard::replicated:
      break;
    case Shard::column:
      shape.out_features =
          linear.heads ? std::int64_t{model.head_dim} * (query_heads_per_rank(model, layout) +
                                                         2 * kv_heads_per_rank(model, layout))
                       : linear.out_features / layout.tensor;
      break;
    case Shard::row:
      shape.in_features /= layout.tensor;
      break;
    case Shard::vocabulary:
      shape.out_features = padded_vocabulary(model) / layout.tensor;
      break;
  }
  return shape;
}

Bytes weight_bytes_per_rank(const Transformer& model, const ParallelLayout& layout, int stage,
                            DType dtype) {
  ParameterSplit split;
  const LayerRange range = stage_layers(model, layout, stage);
  for (int layer = range.first; layer < range.end; ++layer) {
    split += graph_parameters(layer_graph(model, layer), model, layout);
  }
  if (stage == layout.pipeline - 1) {
    split += graph_parameters(output_graph(model), model, layout);
  }
  split.plain += vocabulary_matrices(model, layout, stage) * model.hidden *
                 (padded_vocabulary(model) / layout.tensor);
  return Bytes(static_cast<double>(split.quantised) * bytes_per_element(dtype) +
               static_cast<double>(split.plain) * bytes_per_element(activation_dtype(dtype)));
}

Bytes kv_bytes_per_token_per_rank(const Transformer& model, const ParallelLayout& layout, int stage,
                                  DType kv_dtype) {
  const std::int64_t elements = std::int64_t{2} * stage_layers(model, layout, stage).count() *
                                kv_heads_per_rank(model, layout) * model.head_dim;
  return Bytes(static_cast<double>(elements) * bytes_per_element(kv_dtype));
}

}  // namespace foretoken
