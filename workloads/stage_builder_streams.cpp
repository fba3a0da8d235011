// Which kernels of a layer run at once, on streams of their own.
#include <algorithm>
#include <array>

#include "workloads/stage_builder.hpp"

namespace foretoken {
namespace {

constexpr int expert_fork = 1;  // of all layers, which are alike

/// A kernel of compressed attention by engine: fork, of the layer's two, and lane.
struct AttentionLane {
  std::string_view role;
  StreamLane vllm, sglang;
};

/// vLLM (deepseek_v4_attention.py, attn_gemm_parallel_execute and attention_impl) joins its four
/// products of the layer's input before it goes on with queries here and the index there; SGLang
/// (deepseek_v4.py, _forward_prepare_multi_stream) joins at the end, and forks in the CUDA graphs
/// of decodes alone. Scores of the index follow contexts, and are priced behind the fork.
constexpr auto attention_lanes =
    std::to_array<AttentionLane>({{"qkv_a_proj", {1, 0}, {1, 0}},
                                  {"q_a_norm", {}, {1, 0}},
                                  {"q_b_proj", {2, 0}, {1, 0}},
                                  {"rope", {2, 0}, {1, 0}},
                                  {"kv_compressor", {1, 1}, {1, 1}},
                                  {"kv_state_write", {2, 0}, {1, 1}},
                                  {"kv_compressor_norm", {2, 0}, {1, 1}},
                                  {"index_compressor", {1, 3}, {1, 2}},
                                  {"index_state_write", {2, 1}, {1, 2}},
                                  {"index_k_norm", {2, 1}, {1, 2}},
                                  {"index_q_proj", {2, 1}, {1, 3}},
                                  {"index_q_rotate", {2, 1}, {1, 3}},
                                  {"index_weights_proj", {1, 2}, {1, 4}}});

}  // namespace

void StageProgram::Builder::put_on_stream(const Operator& op, Step& step) const {
  step.stream = expert_stream(op);
  step.stream_tokens_max = settings_.shared_experts_beside;
  if (step.stream.fork > 0 || !model_.compressed) return;
  step.stream = attention_stream(step.call.role);
  step.stream_tokens_max = settings_.compressor_beside;
  step.stream_of_decodes =
      step.stream.fork > 0 && settings_.implementation.framework == Framework::sglang;
}

/// Where tokens are exchanged, shared experts work on a rank's own and routed ones on all. What
/// adds both waits for both.
StreamLane StageProgram::Builder::expert_stream(const Operator& op) const {
  if (!op.of_moe || shares_attention() || op.role == "expert_sum") return {};
  return {expert_fork, op.role.starts_with("shared_") ? 1 : 0};
}

StreamLane StageProgram::Builder::attention_stream(std::string_view role) const {
  const auto* found = std::ranges::find(attention_lanes, role, &AttentionLane::role);
  const Framework framework = settings_.implementation.framework;
  const bool is_vllm = framework == Framework::vllm, is_sglang = framework == Framework::sglang;
  if (found == attention_lanes.end() || !(is_vllm || is_sglang)) return {};
  StreamLane stream = is_sglang ? found->sglang : found->vllm;
  // vLLM's compressor gives its stream to an index, where there is one.
  const bool is_pooling = role == "kv_state_write" || role == "kv_compressor_norm";
  if (is_vllm && is_pooling && !has_index_) stream.lane = 1;
  if (stream.fork > 0) stream.fork += forks_before_;
  return stream;
}

}  // namespace foretoken
