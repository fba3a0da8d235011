// Attention as operators: grouped-query, latent (MLA), sparse behind an index, and compressed.
#include "models/graph_builder.hpp"

namespace foretoken {
namespace {

/// A norm over all heads of a rank's group together.
Operator heads_norm(std::string_view role, std::int64_t width, const AttentionShape& shape) {
  Operator op = norm_operator(role, width, false);
  op.heads = true;
  op.attention = shape;
  return op;
}

/// Each head's own product.
Operator head_projection(std::string_view role, const AttentionShape& shape, std::int64_t in,
                         std::int64_t out) {
  Operator op = of_heads(OperatorKind::head_projection, role, shape);
  op.shard = Shard::column;
  op.in_features = in;
  op.out_features = out;
  op.parameters = shape.query_heads * in * out;
  return op;
}

/// What an index adds to a layer: queries of its heads from `query` (`query_width` wide), one key a
/// token and a weight for each head from the layer's input, and the choice itself. All ranks have
/// all of it.
Vertex add_index(GraphBuilder& graph, const Transformer& model, const AttentionShape& shape,
                 Vertex input, Vertex query, std::int64_t query_width) {
  const KeyIndex& index = *shape.index;
  const std::int64_t queries = std::int64_t{index.heads} * index.head_dim;
  const auto replicated = [&](std::string_view role, std::int64_t in, std::int64_t out) {
    return projection(role, Shard::replicated, in, out);
  };
  Operator indexer = of_heads(OperatorKind::key_indexer, "key_indexer", shape);
  if (model.compressed) {
    // The index has a compressor of its own: overlapping pairs of keys and their weights.
    const std::int64_t pooled = 2 * std::int64_t{index.head_dim};
    const auto in_16bit = [&](std::string_view role, std::int64_t out) {
      Operator op = replicated(role, model.hidden, out);
      op.part = WeightPart::plain;
      return op;
    };
    const Vertex queries_of = graph.add(replicated("index_q_proj", query_width, queries), {query});
    const Vertex weights = graph.add(in_16bit("index_weights_proj", index.heads), {input});
    Operator keys = in_16bit("index_compressor", 2 * pooled);
    keys.parameters += shape.compression * pooled;  // a bias a position
    const Vertex compressed = graph.add(keys, {input});
    const Vertex normed =
        graph.add(norm_operator("index_k_norm", index.head_dim, false), {compressed});
    return graph.add(indexer, {queries_of, weights, normed});
  }
  if (index.block > 1) {
    const Vertex both =
        graph.add(replicated("index_qk_proj", model.hidden, queries + index.head_dim), {input});
    Operator norm = norm_operator("index_k_norm", index.head_dim, false);
    norm.parameters *= 2;  // queries' and keys'
    return graph.add(indexer, {graph.add(norm, {both})});
  }
  const Vertex queries_of = graph.add(replicated("index_q_proj", query_width, queries), {query});
  const Vertex keys =
      graph.add(replicated("index_k_proj", model.hidden, index.head_dim + index.heads), {input});
  Operator norm = norm_operator("index_k_norm", index.head_dim, false);
  norm.parameters *= 2;  // a layer norm
  return graph.add(indexer, {queries_of, graph.add(norm, {keys})});
}

/// Latent attention as vLLM runs it. The up-projection of keys and values (kv_b_proj) belongs to
/// attention for prompts (its launch, where it has one, is the stage builder's); decodes pass it
/// head by head, queries before attention and results behind it.
Vertex add_latent_attention(GraphBuilder& graph, const Transformer& model,
                            const AttentionShape& shape, Vertex input) {
  const MlaConfig& mla = *model.mla;
  const std::int64_t heads = shape.query_heads;
  const std::int64_t query_width = heads * (mla.nope_dim + mla.rope_dim);
  const std::int64_t cached = std::int64_t{mla.kv_rank} + mla.rope_dim;
  const auto down_projection = [&](std::string_view role, std::int64_t width) {
    return graph.add(projection(role, Shard::replicated, model.hidden, width), {input});
  };
  Vertex query = 0, latent = 0, normed_query = input;
  if (mla.query_rank > 0) {
    latent = down_projection("qkv_a_proj", mla.query_rank + cached);
    normed_query = graph.add(norm_operator("q_a_norm", mla.query_rank, false), {latent});
    query = graph.add(projection("q_b_proj", Shard::column, mla.query_rank, query_width),
                      {normed_query});
  } else {
    query = graph.add(projection("q_proj", Shard::column, model.hidden, query_width), {input});
    latent = down_projection("kv_a_proj", cached);
  }
  const Vertex kv_normed = graph.add(norm_operator("kv_a_norm", mla.kv_rank, false), {latent});
  const Vertex rope =
      graph.add(of_heads(OperatorKind::rope, "rope", shape), {query, kv_normed, latent});
  const Vertex written = graph.add(of_heads(OperatorKind::kv_write, "kv_write", shape), {rope});
  const bool has_index = shape.index && !shape.index->is_shared;
  const std::int64_t normed_width = mla.query_rank > 0 ? mla.query_rank : model.hidden;
  const Vertex chosen =
      has_index ? add_index(graph, model, shape, input, normed_query, normed_width) : written;
  const Vertex absorbed =
      graph.add(head_projection("q_absorb", shape, mla.nope_dim, mla.kv_rank), {rope});
  Operator core = of_heads(OperatorKind::attention, "attention", shape);
  core.shard = Shard::column;
  const Vertex attention = graph.add(core, {absorbed, rope, written, chosen});
  Vertex values =
      graph.add(head_projection("v_up_proj", shape, mla.kv_rank, mla.value_dim), {attention});
  if (mla.output_gate) {
    const Vertex gate = graph.add(
        projection("output_gate_proj", Shard::column, model.hidden, heads * mla.value_dim),
        {input});
    values = graph.add(gate_operator("output_gate", heads * mla.value_dim), {values, gate});
  }
  return graph.add(with_all_reduce(projection("o_proj", Shard::row, heads * mla.value_dim,
                                              model.hidden, model.output_bias),
                                   "attention_all_reduce"),
                   {values});
}

/// DeepSeek-V4 (published model code): one key a token that is the value too, a compressor that
/// pools keys beyond the window, and an output in groups of heads, each with a product of its own
/// (as many operations as one product of a group's width).
Vertex add_compressed_attention(GraphBuilder& graph, const Transformer& model,
                                const AttentionShape& shape, Vertex input) {
  const CompressedAttention& own = *model.compressed;
  const std::int64_t query_width = std::int64_t{shape.query_heads} * shape.head_dim;
  const Vertex latent = graph.add(
      projection("qkv_a_proj", Shard::replicated, model.hidden, own.query_rank + shape.head_dim),
      {input});
  const Vertex query = graph.add(norm_operator("q_a_norm", own.query_rank, false), {latent});
  const Vertex heads =
      graph.add(projection("q_b_proj", Shard::column, own.query_rank, query_width), {query});
  const Vertex key = graph.add(norm_operator("kv_a_norm", shape.head_dim, false), {latent});
  const Vertex rope = graph.add(of_heads(OperatorKind::rope, "rope", shape), {heads, key});
  Vertex chosen = graph.add(of_heads(OperatorKind::kv_write, "kv_write", shape), {rope});
  if (shape.compression > 0) {
    // Where an index picks among them, pooled keys overlap: twice as many values.
    const std::int64_t pooled = std::int64_t{shape.head_dim} * (shape.index ? 2 : 1);
    Operator compressor = projection("kv_compressor", Shard::replicated, model.hidden, 2 * pooled);
    compressor.part = WeightPart::plain;  // as published, and the engines' own products take 16 bit
    compressor.parameters += shape.compression * pooled;  // a bias a position
    const Vertex keys = graph.add(compressor, {input});
    chosen = graph.add(norm_operator("kv_compressor_norm", shape.head_dim, false), {keys, chosen});
  }
  if (shape.index) chosen = add_index(graph, model, shape, input, query, own.query_rank);
  Operator core = of_heads(OperatorKind::attention, "attention", shape);
  core.shard = Shard::column;
  core.parameters = shape.sinks ? std::int64_t{shape.query_heads} : 0;
  const Vertex attention = graph.add(core, {rope, chosen});
  const std::int64_t ranks = std::int64_t{own.output_groups} * own.output_rank;
  const Vertex down = graph.add(
      projection("o_a_proj", Shard::column, query_width / own.output_groups, ranks), {attention});
  return graph.add(with_all_reduce(projection("o_b_proj", Shard::row, ranks, model.hidden),
                                   "attention_all_reduce"),
                   {down});
}

/// EAGLE-3's attention sees the token's embedding beside the hidden state.
std::int64_t attention_width(const Transformer& model) {
  const bool is_double = model.draft_head && model.draft_head->kind == DraftHeadKind::eagle3;
  return is_double ? 2 * model.hidden : model.hidden;
}

}  // namespace

Vertex add_attention(GraphBuilder& graph, const Transformer& model, int layer, Vertex input) {
  const AttentionShape shape = model.attention(layer);
  if (model.mla) return add_latent_attention(graph, model, shape, input);
  if (model.compressed) return add_compressed_attention(graph, model, shape, input);
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
    heads.parameters = std::int64_t{shape.shares_kv ? 1 : 2} * shape.head_dim;
    last = graph.add(heads, {last});
  }
  if (model.qk_norm_full) {
    const Vertex query = graph.add(heads_norm("q_norm", query_width, shape), {last});
    last = graph.add(heads_norm("k_norm", key_width, shape), {last, query});
  }
  const Vertex rope = graph.add(of_heads(OperatorKind::rope, "rope", shape), {last});
  const Vertex written =
      shape.shares_kv ? rope
                      : graph.add(of_heads(OperatorKind::kv_write, "kv_write", shape), {rope});
  Operator core = of_heads(OperatorKind::attention, "attention", shape);
  core.shard = Shard::column;
  core.parameters = shape.sinks ? std::int64_t{shape.query_heads} : 0;
  const Vertex chosen = shape.index && !shape.index->is_shared
                            ? add_index(graph, model, shape, input, input, model.hidden)
                            : written;
  Vertex attention = graph.add(core, {rope, written, chosen});
  const std::int64_t result_width = std::int64_t{shape.query_heads} * shape.value_dim;
  if (shape.output_gate)
    attention = graph.add(gate_operator("output_gate", result_width), {attention});
  return graph.add(with_all_reduce(projection("o_proj", Shard::row, result_width, model.hidden,
                                              model.output_bias),
                                   "attention_all_reduce"),
                   {attention});
}

}  // namespace foretoken
