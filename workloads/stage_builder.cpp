// Expands a stage's operators into the steps of its StageProgram. Each kind of operator becomes the
// kernels that vLLM launches for it, with one rank's shapes.
#include "workloads/stage_builder.hpp"

#include <algorithm>

namespace foretoken {

StageProgram::Builder::Builder(const Transformer& model, const ParallelLayout& layout,
                               const ExecutionSettings& settings, int stage)
    : model_(model),
      layout_(layout),
      settings_(settings),
      stage_(stage),
      activation_(activation_dtype(settings.dtype)),
      query_heads_(query_heads_per_rank(model, layout)),
      kv_heads_(kv_heads_per_rank(model, layout)) {}

std::vector<StageProgram::Step> StageProgram::Builder::build() {
  if (stage_ == 0) {
    add_graph(input_graph(model_));
  } else {
    add_receive();
  }
  for (const LayerGroup& group : layer_groups()) add_group(group);
  if (stage_ == layout_.pipeline - 1) {
    add_graph(output_graph(model_));
  } else {
    add_send();
  }
  return std::move(steps_);
}

std::vector<StageProgram::Builder::LayerGroup> StageProgram::Builder::layer_groups() const {
  const auto launch_alike = [&](int a, int b) {
    return model_.is_moe_layer(a) == model_.is_moe_layer(b) && model_.window(a) == model_.window(b);
  };
  std::vector<LayerGroup> groups;
  const LayerRange range = stage_layers(model_, layout_, stage_);
  for (int layer = range.first; layer < range.end; ++layer) {
    const auto found = std::ranges::find_if(
        groups, [&](const LayerGroup& group) { return launch_alike(group.last, layer); });
    LayerGroup& group = found == groups.end() ? groups.emplace_back() : *found;
    group.last = layer;
    ++group.layers;
    group.has_first_of_model |= layer == 0;
  }
  return groups;
}

void StageProgram::Builder::add_receive() {
  add_collective("pipeline_all_gather", CollectiveOp::all_gather,
                 activation_bytes(2 * model_.hidden), 1);
}

void StageProgram::Builder::add_send() {
  add("pipeline_send",
      Collective{.op = CollectiveOp::send_recv, .group = CommGroup::next_stage, .ranks = 2}, 1);
  steps_.back().bytes_per_row = activation_bytes(2 * model_.hidden) / layout_.tensor;
}

void StageProgram::Builder::add_group(const LayerGroup& group) {
  for (Operator& op : launch_order(layer_graph(model_, group.last))) {
    // Layer 0 differs from its like in one kernel: its first norm has no residual to add.
    const bool splits = group.has_first_of_model && group.layers > 1 && op.role == "input_norm";
    if (splits) {
      op.fused_add = false;
      add_operator(op, 1);
      op.fused_add = true;
    }
    add_operator(op, group.layers - (splits ? 1 : 0));
  }
}

void StageProgram::Builder::add_graph(const OperatorGraph& graph) {
  for (const Operator& op : launch_order(graph)) add_operator(op, 1);
}

void StageProgram::Builder::add_operator(const Operator& op, int calls) {
  const int head_dim = model_.head_dim;
  switch (op.kind) {
    case OperatorKind::embedding:
      add(op.role, Embedding{.dim = op.in_features, .dtype = activation_}, calls);
      break;
    case OperatorKind::norm:
      add_norm(op, calls);
      break;
    case OperatorKind::linear:
      add_linear(op, calls);
      break;
    case OperatorKind::qk_norm:
      add(op.role,
          QkNorm{.heads = query_heads_ + kv_heads_, .head_dim = head_dim, .dtype = activation_},
          calls);
      break;
    case OperatorKind::rope:
      add(op.role,
          Rope{.heads = query_heads_ + kv_heads_, .head_dim = head_dim, .dtype = activation_},
          calls);
      break;
    case OperatorKind::kv_write:
      add(op.role,
          KvWrite{.kv_heads = kv_heads_,
                  .head_dim = head_dim,
                  .dtype = activation_,
                  .kv_dtype = settings_.kv_dtype},
          calls);
      break;
    case OperatorKind::attention:
      add(op.role,
          Attention{.query_heads = query_heads_,
                    .kv_heads = kv_heads_,
                    .head_dim = head_dim,
                    .dtype = activation_,
                    .kv_dtype = settings_.kv_dtype,
                    .window = op.window,
                    .page_tokens = settings_.block_tokens,
                    .load = {},
                    .implementation = settings_.implementation},
          calls);
      break;
    case OperatorKind::activation:
      add(op.role, SiluAndMul{.dim = op.in_features / layout_.tensor, .dtype = activation_}, calls);
      break;
    case OperatorKind::topk_routing:
      add(op.role, TopKRouting{.experts = model_.moe->experts, .topk = model_.moe->topk}, calls);
      break;
    case OperatorKind::experts:
      add_experts(op, calls);
      break;
    case OperatorKind::sampling:
      add(op.role, Sampling{.vocabulary = model_.vocabulary}, calls, Rows::logits);
      break;
  }
  if (!op.all_reduce.empty()) {
    add_collective(op.all_reduce, CollectiveOp::all_reduce, activation_bytes(model_.hidden), calls);
  }
}

void StageProgram::Builder::add_norm(const Operator& op, int calls) {
  if (op.heads) {
    // Replicated KV heads are gathered with their copies, since every rank sends what it has.
    const std::int64_t own = op.role == "k_norm" ? kv_heads_ : query_heads_;
    add_collective("qk_norm_all_gather", CollectiveOp::all_gather,
                   activation_bytes(own * model_.head_dim * layout_.tensor), calls);
  }
  if (op.fused_add) {
    add(op.role, FusedAddRmsNorm{.dim = op.in_features, .dtype = activation_}, calls);
  } else {
    add(op.role, RmsNorm{.dim = op.in_features, .dtype = activation_}, calls);
  }
}

void StageProgram::Builder::add_linear(const Operator& op, int calls) {
  const LinearShape shape = shape_per_rank(op, model_, layout_);
  const bool is_quantised = op.shard == Shard::column || op.shard == Shard::row;
  const bool is_head = op.shard == Shard::vocabulary;
  const Rows rows = is_head ? Rows::logits : Rows::tokens;
  add(op.role,
      Gemm{.n = shape.out_features,
           .k = shape.in_features,
           .dtype = is_quantised ? settings_.dtype : activation_,
           .implementation = settings_.implementation},
      calls, rows);
  if (is_head) {
    add_collective("logits_all_gather", CollectiveOp::all_gather,
                   activation_bytes(padded_vocabulary(model_)), calls, rows);
  }
}

void StageProgram::Builder::add_experts(const Operator& op, int calls) {
  add(op.role,
      FusedMoe{.experts = model_.moe->experts,
               .topk = model_.moe->topk,
               .hidden = op.in_features,
               .intermediate = op.out_features,
               .dtype = settings_.dtype,
               .tp = layout_.tensor / layout_.expert,
               .ep = layout_.expert,
               .routing = settings_.routing,
               .implementation = settings_.implementation},
      calls);
}

void StageProgram::Builder::add_collective(std::string_view role, CollectiveOp op,
                                           double bytes_per_row, int calls, Rows rows) {
  if (layout_.tensor == 1) return;
  add(role, Collective{.op = op, .group = CommGroup::tensor_parallel, .ranks = layout_.tensor},
      calls, rows);
  steps_.back().bytes_per_row = bytes_per_row;
}

void StageProgram::Builder::add(std::string_view role, Kernel kernel, int calls, Rows rows) {
  steps_.push_back({.call = {role, std::move(kernel), calls}, .rows = rows});
}

double StageProgram::Builder::activation_bytes(std::int64_t elements) const {
  return static_cast<double>(elements) * bytes_per_element(activation_);
}

}  // namespace foretoken
