// Experts as steps of a stage: alone, or shared by attention ranks whose tokens come and go.
#include <algorithm>

#include "workloads/stage_builder.hpp"

namespace foretoken {

void StageProgram::Builder::add_experts(const Operator& op, int calls) {
  const int sharing = layout_.expert_ranks() / layout_.expert;
  Implementation implementation = settings_.implementation;
  if (settings_.expert_kernels != KernelSource::automatic) {
    implementation.source = settings_.expert_kernels;
  }
  if (has_routed_rows()) implementation.source = KernelSource::deep_gemm_routed;
  const Stream stream = layout_.expert_gpus > 0 ? Stream::experts : Stream::compute;
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
      calls, shares_attention() ? Rows::stage : Rows::tokens, stream);
  add_expert_adapters(op, sharing, calls);
}

/// SGLang gathers all ranks' tokens before the block of experts (communicator.py, prepare_mlp), so
/// that each rank routes all of them and adds up all results. Shared experts are then split by
/// width, which is as much work as a rank's own tokens.
bool StageProgram::Builder::is_behind_gather(const Operator& op) const {
  const auto gathers = [](ExchangeMethod method) {
    return method == ExchangeMethod::all_gather || method == ExchangeMethod::all_reduce;
  };
  const bool is_replicated = op.kind == OperatorKind::topk_routing ||
                             op.kind == OperatorKind::addition || op.shard == Shard::replicated;
  return settings_.implementation.framework == Framework::sglang && is_replicated &&
         layout_.expert_gpus == 0 && gathers(settings_.expert_exchange.prompts) &&
         gathers(settings_.expert_exchange.decodes);
}

/// Behind DeepEP vLLM and SGLang multiply blocks' fp8 by DeepGEMM, and only the rows that came.
bool StageProgram::Builder::has_routed_rows() const {
  const auto is_deepep = [](ExchangeMethod method) {
    return method == ExchangeMethod::deepep_normal || method == ExchangeMethod::deepep_low_latency;
  };
  const ExpertExchange& exchange = settings_.expert_exchange;
  const KernelSource asked = settings_.expert_kernels;
  return shares_attention() && is_deepep(exchange.prompts) && is_deepep(exchange.decodes) &&
         settings_.formats().experts == DType::fp8_block &&
         settings_.implementation.framework != Framework::trtllm &&
         (asked == KernelSource::automatic || asked == KernelSource::deep_gemm);
}

/// As vLLM's FusedMoEWithLoRA has it: pairs for gate and up, which read the same rows, and one for
/// down, each expert's own; ranks share experts by their width, and go down with whole weights
/// before gate and up, and up with whole ones behind down.
void StageProgram::Builder::add_expert_adapters(const Operator& op, int sharing, int calls) {
  if (!settings_.lora || settings_.lora->targets != LoraTargets::experts) return;
  const std::int64_t rank = settings_.lora->rank, inner = op.out_features / sharing;
  const int pairs = model_.ungated_mlp ? 1 : 2;
  const auto add_product = [&](std::string_view role, std::int64_t in, std::int64_t out) {
    add(role, LowRank{.in = in, .out = out, .dtype = activation_}, calls, Rows::adapted_experts);
    steps_.back().held = model_.moe->experts;
  };
  add_product("expert_adapters_shrink", op.in_features, pairs * rank);
  add_product("expert_adapters_expand", rank, pairs * inner);
  add_product("expert_adapters_shrink", inner, rank);
  add_product("expert_adapters_expand", rank, op.in_features);
}

/// Each of attention's ranks sends its share of the tokens to the experts that they ask for, and
/// gets a result back from every set of GPUs that has any of these.
void StageProgram::Builder::add_experts_apart(const Operator& op, int calls) {
  add_expert_send("expert_dispatch", dispatched_bytes(op.in_features), calls, Stream::to_experts);
  add_experts(op, calls);
  const double bytes = activation_bytes(op.in_features);
  add_expert_send("expert_combine", bytes, calls, Stream::from_experts);
  add_collective("moe_share_all_gather", CollectiveOp::all_gather, bytes, calls, Rows::most);
}

void StageProgram::Builder::add_expert_send(std::string_view role, double bytes_per_row, int calls,
                                            Stream stream) {
  add(role,
      Collective{.op = CollectiveOp::send_recv, .group = CommGroup::expert_parallel, .ranks = 2},
      calls, Rows::exchange, stream);
  steps_.back().bytes_per_row = bytes_per_row;
}

void StageProgram::Builder::add_exchanged_experts(const Operator& op, int calls) {
  const ExpertExchange& exchange = settings_.expert_exchange;
  const bool is_one = exchange.prompts == exchange.decodes;
  const When first = is_one ? When::always : When::as_prompts;
  add_dispatch(exchange.prompts, first, op, calls);
  if (!is_one) add_dispatch(exchange.decodes, When::as_decodes, op, calls);
  add_experts(op, calls);
  add_combine(exchange.prompts, first, op, calls);
  if (!is_one) add_combine(exchange.decodes, When::as_decodes, op, calls);
}

void StageProgram::Builder::add_dispatch(ExchangeMethod method, When when, const Operator& op,
                                         int calls) {
  const double bytes = dispatched_bytes(op.in_features);
  switch (method) {
    case ExchangeMethod::all_to_all:
      add_stage_collective("moe_dispatch", CollectiveOp::all_to_all, bytes, calls, Rows::exchange);
      break;
    case ExchangeMethod::all_gather:
      add_stage_collective("moe_all_gather", CollectiveOp::all_gather, bytes, calls,
                           Rows::padded_stage);
      break;
    case ExchangeMethod::all_reduce:
      add_stage_collective("moe_gather_all_reduce", CollectiveOp::all_reduce,
                           activation_bytes(op.in_features), calls, Rows::stage);
      break;
    case ExchangeMethod::deepep_normal:
    case ExchangeMethod::deepep_low_latency:
      add_stage_collective("moe_dispatch", CollectiveOp::expert_dispatch, bytes, calls,
                           Rows::exchanged);
      std::get<Collective>(steps_.back().call.kernel).experts = traffic_of(method);
      break;
  }
  steps_.back().when = when;
}

void StageProgram::Builder::add_combine(ExchangeMethod method, When when, const Operator& op,
                                        int calls) {
  const double bytes = activation_bytes(op.in_features);
  switch (method) {
    case ExchangeMethod::all_to_all:
      add_stage_collective("moe_combine", CollectiveOp::all_to_all, bytes, calls, Rows::exchange);
      break;
    case ExchangeMethod::all_gather:
      add_stage_collective("moe_reduce_scatter", CollectiveOp::reduce_scatter, bytes, calls,
                           Rows::padded_stage);
      break;
    case ExchangeMethod::all_reduce:
      add_stage_collective("moe_all_reduce", CollectiveOp::all_reduce, bytes, calls, Rows::stage);
      steps_.back().when = when;
      return;  // every rank has every token's sum
    case ExchangeMethod::deepep_normal:
    case ExchangeMethod::deepep_low_latency:
      add_stage_collective("moe_combine", CollectiveOp::expert_combine, bytes, calls,
                           Rows::exchanged);
      std::get<Collective>(steps_.back().call.kernel).experts = traffic_of(method);
      break;
  }
  steps_.back().when = when;
  if (layout_.tensor == 1) return;
  add_collective("moe_share_all_gather", CollectiveOp::all_gather, bytes, calls, Rows::most);
  steps_.back().when = when;
}

ExpertTraffic StageProgram::Builder::traffic_of(ExchangeMethod method) const {
  return {model_.moe->experts, model_.moe->topk,
          method == ExchangeMethod::deepep_normal ? ExpertMode::normal : ExpertMode::low_latency,
          groups_on_ranks(model_, layout_)};
}

double StageProgram::Builder::dispatched_bytes(std::int64_t width) const {
  // Tokens of 8 bits bring an fp32 scale for 128 values; those of 4 bits count theirs.
  constexpr double scale_bytes = 4.0 / 128.0;
  const DType format = settings_.formats().experts;
  const auto& quantised = settings_.expert_exchange.quantised;
  if (std::ranges::find(quantised, format) == quantised.end()) return activation_bytes(width);
  const double scales = format == DType::nvfp4 ? 0 : scale_bytes;
  return static_cast<double>(width) * (bytes_per_element(format) + scales);
}

void StageProgram::Builder::add_stage_collective(std::string_view role, CollectiveOp op,
                                                 double bytes_per_row, int calls, Rows rows) {
  add(role,
      Collective{.op = op, .group = CommGroup::expert_parallel, .ranks = layout_.stage_ranks()},
      calls, rows);
  steps_.back().bytes_per_row = bytes_per_row;
}

}  // namespace foretoken
