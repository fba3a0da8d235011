// What the files that build operator graphs share: adding an operator, and the operators that occur
// in many places. Internal to this room.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "models/operator_graph.hpp"
#include "sim/base/error.hpp"

namespace foretoken {

using Vertex = std::size_t;  // where an operator stands in its graph

/// Adds operators to a graph, each with the operators whose results it reads.
class GraphBuilder {
 public:
  Vertex add(const Operator& op, std::initializer_list<Vertex> inputs = {}) {
    for (const Vertex input : inputs) {
      FORETOKEN_CHECK(input < graph_.size(), "{} reads what is launched after it", op.role);
    }
    graph_.push_back(op);
    return graph_.size() - 1;
  }
  OperatorGraph take() { return std::move(graph_); }

 private:
  OperatorGraph graph_;
};

inline Operator norm_operator(std::string_view role, std::int64_t width, bool fused_add) {
  return {.kind = OperatorKind::norm,
          .role = role,
          .in_features = width,
          .fused_add = fused_add,
          .parameters = width};
}

inline Operator linear_operator(std::string_view role, Shard shard, std::int64_t in,
                                std::int64_t out, bool bias = false) {
  const bool is_cut = shard == Shard::column || shard == Shard::row;
  return {.kind = OperatorKind::linear,
          .role = role,
          .shard = shard,
          .in_features = in,
          .out_features = out,
          .bias = bias,
          .part = is_cut ? WeightPart::mlp : WeightPart::plain,
          .parameters = in * out + (bias ? out : 0)};
}

/// A linear operator of attention, or of what stands in its place.
inline Operator projection(std::string_view role, Shard shard, std::int64_t in, std::int64_t out,
                           bool bias = false) {
  Operator op = linear_operator(role, shard, in, out, bias);
  op.part = WeightPart::attention;
  return op;
}

inline Operator with_all_reduce(Operator op, std::string_view role) {
  op.all_reduce = role;
  return op;
}

/// What works head by head on a layer's queries, keys or values.
inline Operator of_heads(OperatorKind kind, std::string_view role, const AttentionShape& shape) {
  return {.kind = kind, .role = role, .attention = shape};
}

/// A gate for each value: a sigmoid and a product.
inline Operator gate_operator(std::string_view role, std::int64_t width) {
  return {
      .kind = OperatorKind::activation, .role = role, .shard = Shard::column, .in_features = width};
}

/// From the normed input to the attention block's output projection, whatever kind of attention the
/// layer has.
Vertex add_attention(GraphBuilder& graph, const Transformer& model, int layer, Vertex input);

/// The same of a recurrence.
Vertex add_state(GraphBuilder& graph, const Transformer& model, const StateShape& state,
                 Vertex input);

}  // namespace foretoken
