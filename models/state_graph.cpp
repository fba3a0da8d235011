// Recurrences as operators: what comes in is projected, convolved, run through the state, normed
// and gated, and projected back. Sources: transformers' modeling files of qwen3_next, nemotron_h,
// falcon_h1 and lfm2, and those published with Kimi Linear.
#include "models/graph_builder.hpp"

namespace foretoken {
namespace {

Operator of_state(OperatorKind kind, std::string_view role, const StateShape& state,
                  std::int64_t parameters) {
  Operator op{.kind = kind, .role = role, .shard = Shard::column, .parameters = parameters};
  op.state = state;
  return op;
}

Vertex add_convolution(GraphBuilder& graph, const StateShape& state, Vertex input) {
  const std::int64_t taps = state.taps + (state.conv_bias ? 1 : 0);
  return graph.add(of_state(OperatorKind::state_convolution, "state_convolution", state,
                            state.channels() * taps),
                   {input});
}

/// Kimi's gates are products of their own, through a rank as narrow as a head but for K3's output
/// gate.
Vertex add_kimi_gates(GraphBuilder& graph, const Transformer& model, const StateShape& state,
                      Vertex input) {
  const std::int64_t keys = std::int64_t{state.value_heads} * state.key_dim;
  const Vertex narrow = graph.add(
      projection("decay_a_proj", Shard::replicated, model.hidden, state.key_dim), {input});
  graph.add(projection("decay_b_proj", Shard::column, state.key_dim, keys), {narrow});
  if (state.gate_rank == 0) {
    return graph.add(projection("gate_proj", Shard::column, model.hidden, state.value_width()),
                     {input});
  }
  const Vertex gate = graph.add(
      projection("gate_a_proj", Shard::replicated, model.hidden, state.gate_rank), {input});
  return graph.add(projection("gate_b_proj", Shard::column, state.gate_rank, state.value_width()),
                   {gate});
}

/// Width of the product that makes all that the recurrence reads, its gates included where they are
/// part of it.
std::int64_t input_width(const StateShape& state) {
  switch (state.kind) {
    case StateKind::delta_net:  // an output gate
      return state.channels() + state.value_width();
    case StateKind::kimi_delta:  // a step a head
      return state.channels() + state.value_heads;
    case StateKind::mamba2:  // an output gate, and a step a head
      return state.channels() + state.value_width() + state.value_heads;
    case StateKind::convolution:  // two gates
      return 3 * state.channels();
  }
  FORETOKEN_CHECK(false, "a recurrence of kind {}", static_cast<int>(state.kind));
}

/// Decay rates and biases of the steps, one a head (Kimi: a bias a key channel); Mamba-2 has a
/// weight beside for what passes it by.
std::int64_t own_parameters(const StateShape& state) {
  const std::int64_t heads = state.value_heads;
  switch (state.kind) {
    case StateKind::delta_net:
      return 2 * heads;
    case StateKind::kimi_delta:
      return heads + heads * state.key_dim;
    case StateKind::mamba2:
      return 3 * heads;
    case StateKind::convolution:
      break;
  }
  return 0;
}

}  // namespace

Vertex add_state(GraphBuilder& graph, const Transformer& model, const StateShape& state,
                 Vertex input) {
  const Vertex projected = graph.add(
      projection("state_in_proj", Shard::column, model.hidden, input_width(state)), {input});
  Vertex gate = projected;
  // Two numbers a head, decay and step: a product of its own, in 16 bit whatever the others are in
  // (vLLM and SGLang, in_proj_ba).
  if (state.kind == StateKind::delta_net) {
    Operator gates = linear_operator("state_gates_proj", Shard::column, model.hidden,
                                     2 * std::int64_t{state.value_heads});
    gates.part = WeightPart::plain;
    gate = graph.add(gates, {input});
  }
  if (state.kind == StateKind::kimi_delta) gate = add_kimi_gates(graph, model, state, input);
  Vertex last = add_convolution(graph, state, projected);
  if (state.kind != StateKind::convolution) {
    last = graph.add(of_state(OperatorKind::state_scan, "state_scan", state, own_parameters(state)),
                     {last, gate});
    const bool norms_all = state.kind == StateKind::mamba2;  // one weight for each value
    last = graph.add(of_state(OperatorKind::state_norm, "state_norm", state,
                              norms_all ? state.value_width() : state.value_dim),
                     {last, projected, gate});
  }
  return graph.add(
      with_all_reduce(projection("state_out_proj", Shard::row, state.value_width(), model.hidden),
                      "state_all_reduce"),
      {last});
}

}  // namespace foretoken
