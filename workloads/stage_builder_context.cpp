// What ranks that share contexts send each other around attention, as vLLM does it (attention/ops,
// dcp): queries of all their heads are gathered, each rank attends with them to its part of the
// tokens, and the parts are merged by their softmax sums: these are gathered, and the corrected
// results summed, each rank keeping its own heads. TensorRT-LLM's Helix sends partial results and
// sums straight to the rank that has the head, in one exchange.
// With latent attention only decodes go that way; prompts' queries otherwise too. Left out: latents
// of earlier chunks of a prompt, which ranks gather before they attend to them.
// Groups that share prompts gather keys and values of all new tokens, at every layer.
#include "workloads/stage_builder.hpp"

namespace foretoken {
namespace {

constexpr double sum_bytes = 4;  // a softmax's log sum, in fp32

}  // namespace

/// Sequences that get a token stand for decodes: there is one of them for each, and a prompt's last
/// token is none too many.
StageProgram::Rows StageProgram::Builder::context_rows() const {
  return model_.mla ? Rows::logits : Rows::tokens;
}

void StageProgram::Builder::add_prompt_gather(const AttentionShape& own, int calls) {
  const std::int64_t width = model_.mla
                                 ? std::int64_t{model_.mla->kv_rank} + model_.mla->rope_dim
                                 : std::int64_t{own.kv_heads} * (own.head_dim + own.value_dim);
  add("prompt_kv_all_gather",
      Collective{.op = CollectiveOp::all_gather,
                 .group = CommGroup::prompt_parallel,
                 .ranks = layout_.prefill_context},
      calls, Rows::gathered);
  steps_.back().bytes_per_row = activation_bytes(width);
}

void StageProgram::Builder::add_query_gather(const AttentionShape& own, int calls) {
  const std::int64_t width =
      model_.mla ? std::int64_t{model_.mla->kv_rank} + model_.mla->rope_dim : own.head_dim;
  add_context_collective("query_all_gather", CollectiveOp::all_gather,
                         activation_bytes(width * own.query_heads * layout_.decode_context), calls);
}

void StageProgram::Builder::add_context_merge(const AttentionShape& own, int calls) {
  const int parts = layout_.decode_context;
  const std::int64_t heads = std::int64_t{own.query_heads} * parts;
  const double results =
      activation_bytes(heads * (model_.mla ? model_.mla->kv_rank : own.value_dim));
  const double sums = sum_bytes * static_cast<double>(heads);
  if (settings_.implementation.framework == Framework::trtllm) {
    add_context_collective("context_all_to_all", CollectiveOp::all_to_all, results + sums, calls);
    return;
  }
  add_context_collective("softmax_all_gather", CollectiveOp::all_gather, sums * parts, calls);
  add_context_collective("context_reduce_scatter", CollectiveOp::reduce_scatter, results, calls);
}

void StageProgram::Builder::add_context_collective(std::string_view role, CollectiveOp op,
                                                   double bytes_per_row, int calls) {
  add(role,
      Collective{.op = op, .group = CommGroup::context_parallel, .ranks = layout_.decode_context},
      calls, context_rows());
  steps_.back().bytes_per_row = bytes_per_row;
}

}  // namespace foretoken
