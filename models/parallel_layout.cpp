// Shards a model: layers by stage, shapes and bytes by rank. Whether a layout fits is
// check_layout.cpp's.
#include "models/parallel_layout.hpp"

#include <algorithm>

#include "models/operator_graph.hpp"

namespace foretoken {
namespace {

/// vLLM pads the vocabulary so that every TP up to 64 divides it (DEFAULT_VOCAB_PADDING_SIZE).
constexpr std::int64_t vocabulary_padding = 64;

/// Parameters of one rank, split by the format they are stored in.
struct ParameterSplit {
  std::int64_t mlp = 0;
  std::int64_t attention = 0;
  std::int64_t shared = 0;
  std::int64_t experts = 0;
  std::int64_t plain = 0;     // in 16 bit
  std::int64_t absorbed = 0;  // as `attention`, and again in 16 bit if that is narrower

  std::int64_t& of(WeightPart part) {
    switch (part) {
      case WeightPart::mlp:
        return mlp;
      case WeightPart::attention:
        return attention;
      case WeightPart::shared_expert:
        return shared;
      case WeightPart::plain:
        break;
    }
    return plain;
  }

  ParameterSplit& operator+=(const ParameterSplit& other) {
    mlp += other.mlp;
    attention += other.attention;
    shared += other.shared;
    experts += other.experts;
    plain += other.plain;
    absorbed += other.absorbed;
    return *this;
  }

  [[nodiscard]] Bytes bytes(const WeightFormats& formats) const {
    const auto size = [](std::int64_t weights, DType dtype) {
      return static_cast<double>(weights) * bytes_per_element(dtype);
    };
    const double narrow = bytes_per_element(formats.attention);
    const double wide = bytes_per_element(activation_dtype(formats.linear));
    return Bytes(size(mlp, formats.linear) + size(attention, formats.attention) +
                 size(shared, formats.shared) + size(experts, formats.experts) +
                 static_cast<double>(plain) * wide +
                 static_cast<double>(absorbed) * (narrow < wide ? narrow + wide : wide));
  }
};

ParameterSplit linear_parameters(const Operator& op, const Transformer& model,
                                 const ParallelLayout& layout) {
  const LinearShape shape = shape_per_rank(op, model, layout);
  const std::int64_t weights = shape.in_features * shape.out_features;
  ParameterSplit split;
  split.of(op.part) = weights;
  if (op.bias) split.plain += shape.out_features;
  return split;
}

/// `expert` whole shares of the other ranks' slices each.
ParameterSplit expert_parameters(const Operator& op, const Transformer& model,
                                 const ParallelLayout& layout) {
  const std::int64_t expert = model.mlp_products() * op.in_features * op.out_features;
  const std::int64_t weights = model.moe->experts * expert;
  const std::int64_t copies = layout.redundant_experts * expert;
  return {.experts = (weights + copies) / layout.expert_ranks(),
          .plain = (op.parameters - weights) / layout.expert_ranks()};
}

ParameterSplit layer_parameters(const Operator& op, const Transformer& model,
                                const ParallelLayout& layout) {
  switch (op.kind) {
    case OperatorKind::linear:
      return linear_parameters(op, model, layout);
    case OperatorKind::experts:
      return expert_parameters(op, model, layout);
    case OperatorKind::head_projection:
      return {.absorbed = op.parameters / layout.tensor};
    case OperatorKind::attention:  // sinks: a number a head
    case OperatorKind::state_convolution:
    case OperatorKind::state_scan:
      return {.plain = op.parameters / layout.tensor};
    case OperatorKind::hyper_connection:
      return {.plain = 2 * op.parameters};  // in fp32
    default:
      return {.plain = op.parameters};  // norms: every rank has them whole
  }
}

ParameterSplit graph_parameters(const OperatorGraph& graph, const Transformer& model,
                                const ParallelLayout& layout) {
  ParameterSplit split;
  for (const Operator& op : graph) {
    const bool is_elsewhere = op.kind == OperatorKind::experts && layout.expert_gpus > 0;
    if (op.shard != Shard::vocabulary && !is_elsewhere)
      split += layer_parameters(op, model, layout);
  }
  return split;
}

/// Embedding on the first stage, LM head on the last; tied, they share where they meet, and the
/// last stage has a copy of its own where they do not. A draft head has what is its own.
std::int64_t vocabulary_matrices(const Transformer& model, const ParallelLayout& layout,
                                 int stage) {
  if (model.draft_head) return model.draft_head->has_own_lm_head() ? 1 : 0;
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

int query_heads_per_rank(const AttentionShape& shape, const ParallelLayout& layout) {
  return shape.query_heads / layout.tensor;
}

int kv_heads_per_rank(const AttentionShape& shape, const ParallelLayout& layout) {
  return std::max(shape.kv_heads / layout.tensor, 1);
}

std::int64_t padded_vocabulary(const Transformer& model) {
  return (model.vocabulary + vocabulary_padding - 1) / vocabulary_padding * vocabulary_padding;
}

LinearShape shape_per_rank(const Operator& linear, const Transformer& model,
                           const ParallelLayout& layout) {
  FORETOKEN_CHECK(linear.kind == OperatorKind::linear, "{} is no linear operator", linear.role);
  LinearShape shape{linear.in_features, linear.out_features};
  if (linear.of_moe && layout.exchanges_tokens()) return shape;
  switch (linear.shard) {
    case Shard::replicated:
      break;
    case Shard::column:
      shape.out_features =
          linear.heads ? qkv_width(linear.attention, query_heads_per_rank(linear.attention, layout),
                                   kv_heads_per_rank(linear.attention, layout))
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
                            const WeightFormats& formats) {
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
  if (stage == 0) {
    // Encoders run before the first layer, cut like it or whole on every rank.
    split.plain += model.encoder_weights() / (layout.encoder_by_data ? 1 : layout.tensor);
    const std::int64_t all_layers = model.layers * model.layer_embedding;
    split.plain += all_layers * (padded_vocabulary(model) / layout.tensor + model.hidden) +
                   model.layer_embedding;
  }
  return split.bytes(formats);
}

Bytes expert_bytes_per_gpu(const Transformer& model, const ParallelLayout& layout,
                           const WeightFormats& formats) {
  ParameterSplit split;
  for (int layer = 0; layer < model.layers; ++layer) {
    for (const Operator& op : layer_graph(model, layer))
      if (op.kind == OperatorKind::experts) split += expert_parameters(op, model, layout);
  }
  return split.bytes(formats);
}

}  // namespace foretoken
