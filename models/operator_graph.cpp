// Builds the operator graphs and counts over them. Vertices are inserted in the order in which an
// engine launches them; edges carry what each operator reads, residuals included.
#include "models/operator_graph.hpp"

#include <functional>
#include <queue>

namespace foretoken {
namespace {

using Vertex = OperatorGraph::vertex_descriptor;

/// Adds operators to a graph, each with the operators whose results it reads.
class GraphBuilder {
 public:
  Vertex add(const Operator& op, std::initializer_list<Vertex> inputs = {}) {
    const Vertex vertex = boost::add_vertex(op, graph_);
    for (const Vertex input : inputs) boost::add_edge(input, vertex, graph_);
    return vertex;
  }
  OperatorGraph take() { return std::move(graph_); }

 private:
  OperatorGraph graph_;
};

Operator norm(std::string_view role, std::int64_t width, bool fused_add) {
  return {.kind = OperatorKind::norm,
          .role = role,
          .in_features = width,
          .fused_add = fused_add,
          .parameters = width};
}

Operator linear(std::string_view role, Shard shard, std::int64_t in, std::int64_t out,
                bool bias = false) {
  return {.kind = OperatorKind::linear,
          .role = role,
          .shard = shard,
          .in_features = in,
          .out_features = out,
          .bias = bias,
          .part = shard == Shard::column || shard == Shard::row ? WeightPart::mlp : WeightPart::plain,
          .parameters = in * out + (bias ? out : 0)};
}

Operator of_moe(Operator op) {
  op.of_moe = true;
  if (op.part != WeightPart::plain) op.part = WeightPart::shared_expert;
  return op;
}

/// A linear operator of attention.
Operator projection(std::string_view role, Shard shard, std::int64_t in, std::int64_t out,
                    bool bias = false) {
  Operator op = linear(role, shard, in, out, bias);
  op.part = WeightPart::attention;
  return op;
}

Operator with_all_reduce(Operator op, std::string_view role) {
  op.all_reduce = role;
  return op;
}

/// A norm over all heads of a rank's group together.
Operator heads_norm(std::string_view role, std::int64_t width, const AttentionShape& shape) {
  Operator op = norm(role, width, false);
  op.heads = true;
  op.attention = shape;
  return op;
}

/// What works head by head on a layer's queries, keys or values.
Operator of_heads(OperatorKind kind, std::string_view role, const AttentionShape& shape) {
  return {.kind = kind, .role = role, .attention = shape};
}

/// Latent attention as vLLM runs it. The up-projection of keys and values (kv_b_proj) is part of
/// the attention kernel for prompts; decodes pass it head by head, queries before attention and
/// results behind it.
Vertex add_latent_attention(GraphBuilder& graph, const Transformer& model, Vertex input) {
  const MlaConfig& mla = *model.mla;
  const AttentionShape shape = model.attention(0);
  const std::int64_t heads = model.query_heads;
  const std::int64_t query_width = heads * (mla.nope_dim + mla.rope_dim);
  const std::int64_t cached = std::int64_t{mla.kv_rank} + mla.rope_dim;
  const auto down_projection = [&](std::string_view role, std::int64_t width) {
    return graph.add(projection(role, Shard::replicated, model.hidden, width), {input});
  };
  Vertex query = 0, latent = 0;
  if (mla.query_rank > 0) {
    latent = down_projection("qkv_a_proj", mla.query_rank + cached);
    const Vertex normed = graph.add(norm("q_a_norm", mla.query_rank, false), {latent});
    query =
        graph.add(projection("q_b_proj", Shard::column, mla.query_rank, query_width), {normed});
  } else {
    query = graph.add(projection("q_proj", Shard::column, model.hidden, query_width), {input});
    latent = down_projection("kv_a_proj", cached);
  }
  const Vertex kv_normed = graph.add(norm("kv_a_norm", mla.kv_rank, false), {latent});
  const Vertex rope =
      graph.add(of_heads(OperatorKind::rope, "rope", shape), {query, kv_normed, latent});
  const Vertex written = graph.add(of_heads(OperatorKind::kv_write, "kv_write", shape), {rope});
  const auto head_projection = [&](std::string_view role, std::int64_t in, std::int64_t out,
                                   Vertex from) {
    return graph.add({.kind = OperatorKind::head_projection,
                      .role = role,
                      .shard = Shard::column,
                      .in_features = in,
                      .out_features = out,
                      .parameters = heads * in * out},
                     {from});
  };
  const Vertex absorbed = head_projection("q_absorb", mla.nope_dim, mla.kv_rank, rope);
  Operator core = of_heads(OperatorKind::attention, "attention", shape);
  core.shard = Shard::column;
  const Vertex attention = graph.add(core, {absorbed, rope, written});
  const Vertex values = head_projection("v_up_proj", mla.kv_rank, mla.value_dim, attention);
  return graph.add(with_all_reduce(projection("o_proj", Shard::row, heads * mla.value_dim,
                                              model.hidden, model.output_bias),
                                   "attention_all_reduce"),
                   {values});
}

/// EAGLE-3's attention sees the token's embedding beside the hidden state.
std::int64_t attention_width(const Transformer& model) {
  const bool is_double = model.draft_head && model.draft_head->kind == DraftHeadKind::eagle3;
  return is_double ? 2 * model.hidden : model.hidden;
}

/// What a draft head does with the token's embedding and the target's hidden states before its
/// attention, as vLLM's llama_eagle, llama_eagle3 and deepseek_mtp.
Vertex add_draft_input(GraphBuilder& graph, const Transformer& model) {
  const DraftHead& head = *model.draft_head;
  const std::int64_t hidden = model.hidden;
  switch (head.kind) {
    case DraftHeadKind::eagle:
      return graph.add(linear("draft_fc", Shard::replicated, hidden + head.target_hidden, hidden));
    case DraftHeadKind::eagle3: {
      if (head.target_layers > 0) {
        graph.add(
            linear("draft_fc", Shard::replicated, head.target_layers * head.target_hidden, hidden));
      }
      graph.add(norm("hidden_norm", hidden, false));
      return graph.add(norm("input_norm", hidden, false));
    }
    case DraftHeadKind::mtp: {
      const Vertex embedding = graph.add(norm("embedding_norm", hidden, false));
      const Vertex state = graph.add(norm("hidden_norm", head.target_hidden, false));
      const Vertex projected =
          graph.add(linear("eh_proj", Shard::replicated, hidden + head.target_hidden, hidden),
                    {embedding, state});
      return graph.add(norm("input_norm", hidden, false), {projected});
    }
  }
  FORETOKEN_CHECK(false, "a draft head of kind {}", static_cast<int>(head.kind));
}

/// From the normed input to the attention block's output projection.
Vertex add_attention(GraphBuilder& graph, const Transformer& model, int layer, Vertex input) {
  if (model.mla) return add_latent_attention(graph, model, input);
  const AttentionShape shape = model.attention(layer);
  const std::int64_t query_width = std::int64_t{shape.query_heads} * shape.head_dim;
  const std::int64_t key_width = std::int64_t{shape.kv_heads} * shape.head_dim;
  Operator qkv = projection("qkv_proj", Shard::column, attention_width(model),
                            qkv_width(shape, shape.query_heads, shape.kv_heads), model.qkv_bias);
  qkv.heads = true;
  qkv.attention = shape;
  Vertex last = graph.add(qkv, {input});
  if (model.qk_norm) {
    Operator heads = of_heads(OperatorKind::qk_norm, "qk_norm", shape);
    heads.in_features = shape.head_dim;
    heads.parameters = std::int64_t{2} * shape.head_dim;
    last = graph.add(heads, {last});
  }
  if (model.qk_norm_full) {
    const Vertex query = graph.add(heads_norm("q_norm", query_width, shape), {last});
    last = graph.add(heads_norm("k_norm", key_width, shape), {last, query});
  }
  const Vertex rope = graph.add(of_heads(OperatorKind::rope, "rope", shape), {last});
  const Vertex written = graph.add(of_heads(OperatorKind::kv_write, "kv_write", shape), {rope});
  Operator core = of_heads(OperatorKind::attention, "attention", shape);
  core.shard = Shard::column;
  core.parameters = shape.sinks ? std::int64_t{shape.query_heads} : 0;
  const Vertex attention = graph.add(core, {rope, written});
  const std::int64_t result_width = std::int64_t{shape.query_heads} * shape.value_dim;
  return graph.add(with_all_reduce(projection("o_proj", Shard::row, result_width, model.hidden,
                                              model.output_bias),
                                   "attention_all_reduce"),
                   {attention});
}

Vertex add_dense_mlp(GraphBuilder& graph, const Transformer& model, int layer, Vertex input) {
  const std::int64_t width = model.dense_width(layer);
  const Vertex gate_up =
      graph.add(linear("gate_up_proj", Shard::column, model.hidden, 2 * width), {input});
  const Vertex activation = graph.add({.kind = OperatorKind::activation,
                                       .role = "activation",
                                       .shard = Shard::column,
                                       .in_features = width},
                                      {gate_up});
  return graph.add(
      with_all_reduce(linear("down_proj", Shard::row, width, model.hidden), "mlp_all_reduce"),
      {activation});
}

/// The expert that every token passes. It runs first; the routed experts' result is added to its
/// partial sum, and both are reduced at once.
Vertex add_shared_expert(GraphBuilder& graph, const Transformer& model, Vertex input) {
  const std::int64_t width = model.moe->shared_intermediate;
  const Vertex gate_up = graph.add(
      of_moe(linear("shared_gate_up_proj", Shard::column, model.hidden, 2 * width)), {input});
  const Vertex activation = graph.add({.kind = OperatorKind::activation,
                                       .role = "shared_activation",
                                       .shard = Shard::column,
                                       .in_features = width,
                                       .of_moe = true},
                                      {gate_up});
  const Vertex down = graph.add(
      of_moe(linear("shared_down_proj", Shard::row, width, model.hidden)), {activation});
  if (!model.moe->shared_gate) return down;
  return graph.add(of_moe(linear("shared_expert_gate", Shard::replicated, model.hidden, 1)),
                   {down});
}

Vertex add_experts(GraphBuilder& graph, const Transformer& model, Vertex input) {
  const MoeConfig& moe = *model.moe;
  Vertex carried = input;
  if (moe.shared_intermediate > 0) carried = add_shared_expert(graph, model, input);
  const Vertex router = graph.add(
      of_moe(linear("router", Shard::replicated, model.hidden, moe.experts, moe.router_bias)),
      {input});
  const Vertex topk = graph.add(
      {.kind = OperatorKind::topk_routing, .role = "topk_routing", .of_moe = true}, {router});
  const std::int64_t biases = moe.expert_bias ? 2 * moe.intermediate + model.hidden : 0;
  return graph.add({.kind = OperatorKind::experts,
                    .role = "experts",
                    .shard = Shard::row,
                    .in_features = model.hidden,
                    .out_features = moe.intermediate,
                    .bias = moe.expert_bias,
                    .of_moe = true,
                    .all_reduce = "moe_all_reduce",
                    .parameters = moe.experts * (3 * model.hidden * moe.intermediate + biases)},
                   {carried, topk});
}

std::int64_t sum_parameters(const OperatorGraph& graph, const MoeConfig* active_experts_of) {
  std::int64_t sum = 0;
  for (const Vertex vertex : boost::make_iterator_range(boost::vertices(graph))) {
    const Operator& op = graph[vertex];
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

OperatorGraph layer_graph(const Transformer& model, int layer) {
  FORETOKEN_CHECK(layer >= 0 && layer < model.layers, "layer {} of {}", layer, model.layers);
  GraphBuilder graph;
  // Layer 0 has no residual yet to add; every later norm takes the previous block's output in.
  const Vertex input = model.draft_head ? add_draft_input(graph, model)
                                        : graph.add(norm("input_norm", model.hidden, layer > 0));
  const LayerKind* kind = model.kind(layer);
  Vertex mlp_norm = input;
  if (kind == nullptr || kind->has_attention) {
    Vertex projected = add_attention(graph, model, layer, input);
    if (model.post_norms) {
      projected = graph.add(norm("post_attention_norm", model.hidden, false), {projected});
    }
    if (kind != nullptr && !kind->has_mlp) return graph.take();
    const std::string_view before_mlp = model.post_norms ? "pre_mlp_norm" : "post_attention_norm";
    mlp_norm = graph.add(norm(before_mlp, model.hidden, true), {input, projected});
  } else if (!kind->has_mlp) {
    return {};
  }
  const Vertex mlp = model.is_moe_layer(layer) ? add_experts(graph, model, mlp_norm)
                                               : add_dense_mlp(graph, model, layer, mlp_norm);
  if (model.post_norms) graph.add(norm("post_mlp_norm", model.hidden, false), {mlp});
  return graph.take();
}

OperatorGraph input_graph(const Transformer& model) {
  GraphBuilder graph;
  graph.add({.kind = OperatorKind::embedding,
             .role = "embedding",
             .shard = Shard::vocabulary,
             .in_features = model.hidden,
             .all_reduce = "embedding_all_reduce",
             .parameters = model.draft_head ? 0 : model.vocabulary * model.hidden});
  return graph.take();
}

OperatorGraph output_graph(const Transformer& model) {
  GraphBuilder graph;
  // EAGLE predicts what the target's last norm has passed already.
  const bool has_norm = !model.draft_head || model.draft_head->kind != DraftHeadKind::eagle;
  Operator head = linear("lm_head", Shard::vocabulary, model.hidden, model.vocabulary);
  const bool shares_head = model.draft_head && !model.draft_head->has_own_lm_head();
  if (model.tied_embeddings || shares_head) head.parameters = 0;
  const Vertex logits = has_norm
                            ? graph.add(head, {graph.add(norm("final_norm", model.hidden, true))})
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
  const int value_dim = shape.values_are_keys ? 0 : shape.value_dim;
  return std::int64_t{query_heads} * shape.head_dim +
         std::int64_t{kv_heads} * (shape.head_dim + value_dim);
}

std::int64_t cached_elements(const Transformer& model, int layer, int kv_heads) {
  const LayerKind* kind = model.kind(layer);
  if (kind != nullptr && !kind->has_attention) return 0;
  if (model.mla) return std::int64_t{model.mla->kv_rank} + model.mla->rope_dim;
  const AttentionShape shape = model.attention(layer);
  return std::int64_t{kv_heads} * (shape.head_dim + shape.value_dim);
}

std::vector<Operator> launch_order(const OperatorGraph& graph) {
  // Kahn's algorithm with the smallest ready vertex first. (boost::topological_sort keeps no
  // particular order among operators that do not depend on each other.)
  std::vector<std::size_t> waiting_for(boost::num_vertices(graph));
  std::priority_queue<Vertex, std::vector<Vertex>, std::greater<>> ready;
  for (const Vertex vertex : boost::make_iterator_range(boost::vertices(graph))) {
    waiting_for[vertex] = boost::in_degree(vertex, graph);
    if (waiting_for[vertex] == 0) ready.push(vertex);
  }
  std::vector<Operator> order;
  while (!ready.empty()) {
    const Vertex vertex = ready.top();
    ready.pop();
    order.push_back(graph[vertex]);
    for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex, graph))) {
      const Vertex reader = boost::target(edge, graph);
      if (--waiting_for[reader] == 0) ready.push(reader);
    }
  }
  FORETOKEN_CHECK(order.size() == boost::num_vertices(graph), "the operator graph has a cycle");
  return order;
}

std::int64_t parameter_count(const Transformer& model) { return count_parameters(model, nullptr); }

std::int64_t active_parameter_count(const Transformer& model) {
  return count_parameters(model, model.moe ? &*model.moe : nullptr);
}

Bytes kv_bytes_per_token(const Transformer& model, DType kv_dtype) {
  std::int64_t elements = 0;
  for (int layer = 0; layer < model.layers; ++layer) {
    elements += cached_elements(model, layer, model.attention(layer).kv_heads);
  }
  return Bytes(static_cast<double>(elements) * bytes_per_element(kv_dtype));
}

}  // namespace foretoken
