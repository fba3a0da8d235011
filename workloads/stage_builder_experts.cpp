// Experts as steps of a stage: alone, or shared by attention ranks whose tokens come and go.
#include "workloads/stage_builder.hpp"

namespace foretoken {

void StageProgram::Builder::add_experts(const Operator& op, int calls) {
  const int sharing = layout_.stage_ranks() / layout_.expert;
  Implementation implementation = settings_.implementation;
  if (settings_.expert_kernels != KernelSource::automatic) {
    implementation.source = settings_.expert_kernels;
  }
  add(op.role,
      FusedMoe{.experts = model_.moe->experts,
               .topk = model_.moe->topk,
               .hidden = op.in_features,
               .intermediate = op.out_features,
               .dtype = settings_.formats().experts,
               .tp = sharing,
               .ep = layout_.expert,
               .routing = settings_.routing,
               .implementation = implementation,
               .ungated = model_.ungated_mlp,
               .redundant = layout_.redundant_experts,
               .placed_by_load = layout_.experts_by_load},
      calls, shares_attention() ? Rows::stage : Rows::tokens);
}

void StageProgram::Builder::add_exchanged_experts(const Operator& op, int calls) {
  const double combined = activation_bytes(op.in_features);
  if (settings_.expert_exchange == ExpertExchange::all_gather) {
    add_stage_collective("moe_all_gather", CollectiveOp::all_gather, combined, calls,
                         Rows::padded_stage);
    add_experts(op, calls);
    add_stage_collective("moe_reduce_scatter", CollectiveOp::reduce_scatter, combined, calls,
                         Rows::padded_stage);
  } else if (settings_.expert_exchange == ExpertExchange::deepep) {
    const ExpertTraffic traffic{model_.moe->experts, model_.moe->topk};
    const auto add_half = [&](std::string_view role, CollectiveOp half, double bytes_per_row) {
      add_stage_collective(role, half, bytes_per_row, calls, Rows::exchanged);
      std::get<Collective>(steps_.back().call.kernel).experts = traffic;
    };
    add_half("moe_dispatch", CollectiveOp::expert_dispatch, dispatched_bytes(op.in_features));
    add_experts(op, calls);
    add_half("moe_combine", CollectiveOp::expert_combine, combined);
  } else {
    add_stage_collective("moe_dispatch", CollectiveOp::all_to_all, dispatched_bytes(op.in_features),
                         calls, Rows::exchange);
    add_experts(op, calls);
    add_stage_collective("moe_combine", CollectiveOp::all_to_all, combined, calls, Rows::exchange);
  }
  add_collective("moe_share_all_gather", CollectiveOp::all_gather, combined, calls, Rows::most);
}

double StageProgram::Builder::dispatched_bytes(std::int64_t width) const {
  // DeepEP sends tokens to fp8 experts in fp8, with an fp32 scale for 128 values.
  constexpr double scale_bytes = 4.0 / 128.0;
  const DType dtype = settings_.formats().experts;
  if (dtype == DType::fp8 || dtype == DType::fp8_block) {
    return static_cast<double>(width) * (bytes_per_element(dtype) + scale_bytes);
  }
  return activation_bytes(width);
}

void StageProgram::Builder::add_stage_collective(std::string_view role, CollectiveOp op,
                                                 double bytes_per_row, int calls, Rows rows) {
  add(role,
      Collective{.op = op, .group = CommGroup::expert_parallel, .ranks = layout_.stage_ranks()},
      calls, rows);
  steps_.back().bytes_per_row = bytes_per_row;
}

}  // namespace foretoken
