// Builds the operator graphs and counts over them. Vertices are inserted in the order in which an
// engine launches them; each names what it reads, residuals included.
#include "models/operator_graph.hpp"

#include "models/graph_builder.hpp"

namespace foretoken {
namespace {

Operator of_moe(Operator op) {
  op.of_moe = true;
  if (op.part != WeightPart::plain) op.part = WeightPart::shared_expert;
  return op;
}

/// What a draft head does with the token's embedding and the target's hidden states before its
/// attention, as vLLM's llama_eagle, llama_eagle3 and deepseek_mtp.
Vertex add_draft_input(GraphBuilder& graph, const Transformer& model) {
  const DraftHead& head = *model.draft_head;
  const std::int64_t hidden = model.hidden;
  switch (head.kind) {
    case DraftHeadKind::eagle:
      return graph.add(
          linear_operator("draft_fc", Shard::replicated, hidden + head.target_hidden, hidden));
    case DraftHeadKind::eagle3: {
      if (head.target_layers > 0) {
        graph.add(linear_operator("draft_fc", Shard::replicated,
                                  head.target_layers * head.target_hidden, hidden));
      }
      graph.add(norm_operator("hidden_norm", hidden, false));
      return graph.add(norm_operator("input_norm", hidden, false));
    }
    case DraftHeadKind::mtp: {
      const Vertex embedding = graph.add(norm_operator("embedding_norm", hidden, false));
      const Vertex state = graph.add(norm_operator("hidden_norm", head.target_hidden, false));
      const Vertex projected = graph.add(
          linear_operator("eh_proj", Shard::replicated, hidden + head.target_hidden, hidden),
          {embedding, state});
      return graph.add(norm_operator("input_norm", hidden, false), {projected});
    }
  }
  FORETOKEN_CHECK(false, "a draft head of kind {}", static_cast<int>(head.kind));
}

/// Gate and up products at once where there is a gate.
std::int64_t first_width(const Transformer& model, std::int64_t width) {
  return (model.mlp_products() - 1) * width;
}

Vertex add_dense_mlp(GraphBuilder& graph, const Transformer& model, int layer, Vertex input) {
  const std::int64_t width = model.dense_width(layer);
  const Vertex gate_up =
      graph.add(linear_operator(model.ungated_mlp ? "up_proj" : "gate_up_proj", Shard::column,
                                model.hidden, first_width(model, width)),
                {input});
  const Vertex activation = graph.add({.kind = OperatorKind::activation,
                                       .role = "activation",
                                       .shard = Shard::column,
                                       .in_features = width},
                                      {gate_up});
  return graph.add(with_all_reduce(linear_operator("down_proj", Shard::row, width, model.hidden),
                                   "mlp_all_reduce"),
                   {activation});
}

/// What stands beside the routed experts, token by token.
Operator moe_addition(std::string_view role, const Transformer& model) {
  return {
      .kind = OperatorKind::addition, .role = role, .in_features = model.hidden, .of_moe = true};
}

/// The expert that every token passes. It runs first; the routed experts' result is added to its
/// partial sum, and both are reduced at once.
Vertex add_shared_expert(GraphBuilder& graph, const Transformer& model, Vertex input) {
  const std::int64_t width = model.moe->shared_intermediate;
  const Vertex gate_up = graph.add(of_moe(linear_operator("shared_gate_up_proj", Shard::column,
                                                          model.hidden, first_width(model, width))),
                                   {input});
  const Vertex activation = graph.add({.kind = OperatorKind::activation,
                                       .role = "shared_activation",
                                       .shard = Shard::column,
                                       .in_features = width,
                                       .of_moe = true},
                                      {gate_up});
  const Vertex down = graph.add(
      of_moe(linear_operator("shared_down_proj", Shard::row, width, model.hidden)), {activation});
  if (!model.moe->shared_gate) return down;
  const Vertex gate = graph.add(
      of_moe(linear_operator("shared_expert_gate", Shard::replicated, model.hidden, 1)), {input});
  return graph.add(moe_addition("shared_gating", model), {down, gate});
}

Vertex add_experts(GraphBuilder& graph, const Transformer& model, Vertex input) {
  const MoeConfig& moe = *model.moe;
  Vertex carried = input;
  if (moe.shared_intermediate > 0) carried = add_shared_expert(graph, model, input);
  const Vertex router = graph.add(of_moe(linear_operator("router", Shard::replicated, model.hidden,
                                                         moe.experts, moe.router_bias)),
                                  {input});
  const Vertex topk = graph.add(
      {.kind = OperatorKind::topk_routing, .role = "topk_routing", .of_moe = true}, {router});
  const std::int64_t width = moe.latent > 0 ? moe.latent : model.hidden;
  Vertex entered = topk;
  if (moe.latent > 0) {
    entered = graph.add(
        of_moe(linear_operator("latent_down_proj", Shard::replicated, model.hidden, moe.latent)),
        {input, topk});
  }
  // Launched behind the experts; here before them, whose sum over ranks ends the block.
  if (moe.shared_intermediate > 0) {
    entered = graph.add(moe_addition("expert_sum", model), {carried, entered});
  }
  const std::int64_t biases = moe.expert_bias ? 2 * moe.intermediate + width : 0;
  const Vertex experts = graph.add(
      {.kind = OperatorKind::experts,
       .role = "experts",
       .shard = Shard::row,
       .in_features = width,
       .out_features = moe.intermediate,
       .bias = moe.expert_bias,
       .of_moe = true,
       .all_reduce = moe.latent > 0 ? "" : "moe_all_reduce",
       .parameters = moe.experts * (model.mlp_products() * width * moe.intermediate + biases)},
      {carried, entered});
  if (moe.latent == 0) return experts;
  return graph.add(with_all_reduce(of_moe(linear_operator("latent_up_proj", Shard::replicated,
                                                          moe.latent, model.hidden)),
                                   "moe_all_reduce"),
                   {experts});
}

std::int64_t sum_parameters(const OperatorGraph& graph, const MoeConfig* active_experts_of) {
  std::int64_t sum = 0;
  for (const Operator& op : graph) {
    const bool is_routed = op.kind == OperatorKind::experts && active_experts_of != nullptr;
    sum += is_routed ? op.parameters / active_experts_of->experts * active_experts_of->topk
                     : op.parameters;
  }
  return sum;
}

/// `active_experts_of` is nullptr to count all experts.
std::int64_t count_parameters(const Transformer& model, const MoeConfig* active_experts_of) {
  std::int64_t sum =
      sum_parameters(input_graph(model), nullptr) + sum_parameters(output_graph(model), nullptr);
  for (int layer = 0; layer < model.layers; ++layer) {
    sum += sum_parameters(layer_graph(model, layer), active_experts_of);
  }
  return sum;
}

}  // namespace

namespace {

/// DeepSeek-V4: each block reads a mix of the streams, and every stream takes its output in.
Vertex add_hyper(GraphBuilder& graph, const Transformer& model, std::string_view role,
                 HyperPart part, std::initializer_list<Vertex> inputs) {
  const std::int64_t streams = model.hyper_streams;
  const std::int64_t mixes = (2 + streams) * streams;
  Operator op{.kind = OperatorKind::hyper_connection, .role = role, .in_features = model.hidden};
  op.hyper = part;
  // A product from all streams to the mixing weights, a bias each and three scales.
  if (part == HyperPart::pre) op.parameters = mixes * streams * model.hidden + mixes + 3;
  return graph.add(op, inputs);
}

/// A block's norm: after the residual's addition, or of what the streams are mixed to.
Vertex add_block_norm(GraphBuilder& graph, const Transformer& model, std::string_view role,
                      std::string_view mix_role, bool fused_add,
                      std::initializer_list<Vertex> inputs) {
  if (model.hyper_streams == 0)
    return graph.add(norm_operator(role, model.hidden, fused_add), inputs);
  const Vertex mixed = add_hyper(graph, model, mix_role, HyperPart::pre, inputs);
  return graph.add(norm_operator(role, model.hidden, false), {mixed});
}

/// What DeciLM's search put in place of a block.
Vertex add_linear_block(GraphBuilder& graph, const Transformer& model, std::string_view role,
                        Vertex input) {
  return graph.add(linear_operator(role, Shard::replicated, model.hidden, model.hidden), {input});
}

/// Attention, a recurrence, or both side by side (Falcon-H1).
Vertex add_mixer(GraphBuilder& graph, const Transformer& model, int layer, Vertex input) {
  const LayerKind* kind = model.kind(layer);
  Vertex last = input;
  if (kind != nullptr && kind->linear_attention) {
    return add_linear_block(graph, model, "linear_attention", input);
  }
  if (kind != nullptr && kind->state) last = add_state(graph, model, *kind->state, input);
  if (kind != nullptr && !kind->has_attention) return last;
  return add_attention(graph, model, layer, input);
}

/// Gemma 4's E models (transformers, modeling_gemma4.py): behind the MLP, a gate of the hidden
/// state on the layer's own embedding of the token, projected back and normed.
void add_layer_embedding(GraphBuilder& graph, const Transformer& model, Vertex mlp) {
  const std::int64_t width = model.layer_embedding;
  const Vertex gate =
      graph.add(linear_operator("layer_gate", Shard::replicated, model.hidden, width), {mlp});
  const Vertex gated = graph.add(gate_operator("layer_gating", width), {gate});
  const Vertex wide = graph.add(
      linear_operator("layer_projection", Shard::replicated, width, model.hidden), {gated});
  graph.add(norm_operator("layer_norm", model.hidden, true), {mlp, wide});
}

}  // namespace

OperatorGraph layer_graph(const Transformer& model, int layer) {
  FORETOKEN_CHECK(layer >= 0 && layer < model.layers, "layer {} of {}", layer, model.layers);
  const LayerKind* kind = model.kind(layer);
  const bool has_mixer =
      kind == nullptr || kind->has_attention || kind->state || kind->linear_attention;
  const bool has_mlp = kind == nullptr || kind->has_mlp;
  if (!has_mixer && !has_mlp) return {};
  GraphBuilder graph;
  // Layer 0 has no residual yet to add; every later norm takes the previous block's output in.
  Vertex input = 0;
  if (model.draft_head) {
    input = add_draft_input(graph, model);
  } else {
    input = add_block_norm(graph, model, "input_norm", "attention_mix", layer > 0, {});
  }
  Vertex mlp_norm = input;
  if (has_mixer) {
    Vertex projected = add_mixer(graph, model, layer, input);
    if (model.hyper_streams > 0) {
      projected = add_hyper(graph, model, "attention_unmix", HyperPart::post, {projected});
    }
    if (model.post_norms) {
      projected = graph.add(norm_operator("post_attention_norm", model.hidden, false), {projected});
    }
    if (!has_mlp) return graph.take();
    const std::string_view before_mlp = model.post_norms ? "pre_mlp_norm" : "post_attention_norm";
    if (!model.parallel_blocks) {
      mlp_norm = add_block_norm(graph, model, before_mlp, "mlp_mix", true, {input, projected});
    }
  }
  Vertex mlp = kind != nullptr && kind->linear_mlp
                   ? add_linear_block(graph, model, "linear_mlp", mlp_norm)
               : model.is_moe_layer(layer) ? add_experts(graph, model, mlp_norm)
                                           : add_dense_mlp(graph, model, layer, mlp_norm);
  if (model.hyper_streams > 0) {
    mlp = add_hyper(graph, model, "mlp_unmix", HyperPart::post, {mlp});
  }
  if (model.post_norms) mlp = graph.add(norm_operator("post_mlp_norm", model.hidden, false), {mlp});
  if (model.layer_embedding > 0) add_layer_embedding(graph, model, mlp);
  return graph.take();
}

OperatorGraph input_graph(const Transformer& model) {
  GraphBuilder graph;
  const Vertex embedding =
      graph.add({.kind = OperatorKind::embedding,
                 .role = "embedding",
                 .shard = Shard::vocabulary,
                 .in_features = model.hidden,
                 .all_reduce = "embedding_all_reduce",
                 .parameters = model.draft_head ? 0 : model.vocabulary * model.hidden});
  if (model.layer_embedding > 0 && !model.draft_head) {
    const std::int64_t all_layers = model.layers * model.layer_embedding;
    graph.add({.kind = OperatorKind::embedding,
               .role = "layer_embedding",
               .shard = Shard::vocabulary,
               .in_features = all_layers,
               .parameters = model.vocabulary * all_layers});
    const Vertex projected = graph.add(
        linear_operator("layer_inputs", Shard::replicated, model.hidden, all_layers), {embedding});
    Operator norm = norm_operator("layer_inputs_norm", all_layers, false);
    norm.parameters = model.layer_embedding;
    graph.add(norm, {projected});
  }
  return graph.take();
}

OperatorGraph output_graph(const Transformer& model) {
  GraphBuilder graph;
  // EAGLE predicts what the target's last norm has passed already.
  const bool has_norm = !model.draft_head || model.draft_head->kind != DraftHeadKind::eagle;
  Operator head = linear_operator("lm_head", Shard::vocabulary, model.hidden, model.vocabulary);
  const bool shares_head = model.draft_head && !model.draft_head->has_own_lm_head();
  if (model.tied_embeddings || shares_head) head.parameters = 0;
  const Vertex logits =
      has_norm ? graph.add(head, {graph.add(norm_operator("final_norm", model.hidden, true))})
               : graph.add(head);
  graph.add({.kind = OperatorKind::sampling, .role = "sampling"}, {logits});
  return graph.take();
}

DType format_of(WeightPart part, const WeightFormats& formats) {
  switch (part) {
    case WeightPart::plain:
      return activation_dtype(formats.linear);
    case WeightPart::mlp:
      return formats.linear;
    case WeightPart::attention:
      return formats.attention;
    case WeightPart::shared_expert:
      return formats.shared;
  }
  FORETOKEN_CHECK(false, "weights of part {}", static_cast<int>(part));
}

std::int64_t qkv_width(const AttentionShape& shape, int query_heads, int kv_heads) {
  if (shape.shares_kv) kv_heads = 0;
  const int value_dim = shape.values_are_keys ? 0 : shape.value_dim;
  const int gate_dim = shape.output_gate ? shape.value_dim : 0;
  return std::int64_t{query_heads} * (shape.head_dim + gate_dim) +
         std::int64_t{kv_heads} * (shape.head_dim + value_dim);
}

std::int64_t parameter_count(const Transformer& model) { return count_parameters(model, nullptr); }

std::int64_t active_parameter_count(const Transformer& model) {
  return count_parameters(model, model.moe ? &*model.moe : nullptr);
}

}  // namespace foretoken
