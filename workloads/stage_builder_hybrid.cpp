// Recurrences, sparse attention with its index and hyper-connections as steps of a stage. An
// index's cache write and the gathering of what it picked are left out.
#include <algorithm>
#include <span>

#include "workloads/stage_builder.hpp"

namespace foretoken {

std::int64_t StageProgram::Builder::dense_contexts_max(const Transformer& model,
                                                       const ParallelLayout& layout,
                                                       const ExecutionSettings& settings) {
  const bool has_dense = model.mla && !model.compressed && layout.prefill_context == 1 &&
                         settings.implementation.framework == Framework::sglang;
  if (!has_dense) return 0;
  std::int64_t most = 0;
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention.index) most = std::max(most, kind.attention.index->selected);
  }
  return most;
}

bool StageProgram::Builder::has_dense_prompts() const {
  return dense_contexts_max(model_, layout_, settings_) > 0;
}

StageProgram::Attends StageProgram::Builder::attends_of(const Operator& op) const {
  const bool is_of_sparse = op.kind == OperatorKind::attention ||
                            op.kind == OperatorKind::key_indexer ||
                            op.kind == OperatorKind::head_projection || op.role == "index_q_proj";
  return is_of_sparse && has_dense_prompts() ? Attends::sparsely : Attends::always;
}

void StageProgram::Builder::add_dense_prompts(const Operator& op, int calls) {
  const AttentionShape own = heads_of(op);
  const std::size_t first = steps_.size();
  add("kv_b_proj", latent_expansion(own), calls, Rows::contexts);
  Mla kernel = latent_attention(own.query_heads);
  kernel.expands_cached = true;
  add("dense_attention", kernel, calls);
  for (Step& step : std::span(steps_).subspan(first)) {
    step.call.expands_cached = true;
    step.attends = Attends::densely;
  }
}

void StageProgram::Builder::add_sparse_attention(const Operator& op, int calls) {
  const AttentionShape own = heads_of(op);
  SparseAttention kernel{.query_heads = own.query_heads,
                         .kv_heads = own.kv_heads,
                         .key_dim = op.attention.head_dim,
                         .value_dim = op.attention.value_dim,
                         .selected = op.attention.index ? op.attention.index->selected : 0,
                         .window = op.attention.window,
                         .dtype = activation_,
                         .kv_dtype = settings_.kv_dtype,
                         .load = {},
                         .implementation = settings_.implementation};
  if (model_.mla) {
    kernel.kv_heads = 1;
    kernel.key_dim = model_.mla->kv_rank + model_.mla->rope_dim;
    kernel.value_dim = model_.mla->kv_rank;
    kernel.values_are_keys = true;
    if (op.attention.index) add_latent_inputs(own, op.attention.index->selected, calls);
  }
  if (model_.compressed) {
    kernel.values_are_keys = true;
    kernel.ratio = std::max(op.attention.compression, 1);
    add_padding(own.query_heads, own.head_dim, calls);
  }
  add(op.role, kernel, calls);
  if (has_dense_prompts()) add_dense_prompts(op, calls);
  if (model_.compressed && bytes_per_element(settings_.formats().attention) < 2)
    add_output_rotation(own, calls);
}

/// The grouped product behind takes values that were rotated back and quantised: in one pass, or in
/// SGLang (deepseek_v4.py, MQALayer.forward) in two, behind which PyTorch rounds the scales of 128
/// values each up to powers of two, operation by operation.
void StageProgram::Builder::add_output_rotation(const AttentionShape& own, int calls) {
  constexpr int values_a_scale = 128, halves_a_scale = 2, roundings = 4;
  if (settings_.implementation.framework != Framework::sglang) {
    add_pass("o_rotate", own.query_heads, own.value_dim, calls);
    return;
  }
  const int scales = own.value_dim / values_a_scale;
  add_pass("o_rotate", own.query_heads, model_.compressed->rope_dim, calls);
  add_pass("o_quantise", own.query_heads, own.value_dim, calls);
  add_pass("o_scale_rounding", own.query_heads, scales * halves_a_scale, calls * roundings);
}

/// An index of single keys scores them in 8 bit, one of blocks as the attention does. All ranks
/// have it whole but for the heads of a block index, which go with their KV heads.
void StageProgram::Builder::add_key_indexer(const Operator& op, int calls) {
  const KeyIndex& index = *op.attention.index;
  const bool has_blocks = index.block > 1;
  // Its queries are rotated and written in 8 bit: in one pass, or in SGLang in two, with a Hadamard
  // transform between them. DeepSeek-V4's take one pass everywhere, and its keys another.
  if (!has_blocks) {
    const bool is_pooled = op.attention.compression > 1;
    const bool is_sglang = settings_.implementation.framework == Framework::sglang;
    add_pass("index_q_rotate", index.heads + (is_pooled ? 0 : 1), index.head_dim,
             calls * (is_sglang && !is_pooled ? 2 : 1));
    if (has_dense_prompts()) {  // which need keys alone, in the cache, for the steps that choose
      add_pass("index_k_rotate", 1, index.head_dim, calls * 2);
      steps_.back().attends = Attends::densely;
    }
  }
  add(op.role,
      KeyIndexer{.heads = has_blocks ? std::max(index.heads / layout_.tensor, 1) : index.heads,
                 .head_dim = index.head_dim,
                 .selected = index.selected,
                 .block = index.block,
                 .ratio = std::max(op.attention.compression, 1),
                 .dtype = has_blocks ? activation_ : DType::fp8,
                 .load = {},
                 .implementation = settings_.implementation},
      calls);
}

/// vLLM has the weights of a block index beside those of queries, keys and values: one product.
bool StageProgram::Builder::fuses_block_index() const {
  return settings_.implementation.framework == Framework::vllm;
}

/// Columns of a block index in the product of queries, keys and values.
std::int64_t StageProgram::Builder::fused_index_width(const AttentionShape& attention) const {
  const std::optional<KeyIndex>& index = attention.index;
  if (!fuses_block_index() || !index || index->block == 1) return 0;
  return (index->heads + std::int64_t{1}) * index->head_dim;
}

void StageProgram::Builder::add_state(const Operator& op, int calls) {
  const StateShape& state = op.state;
  const int value_heads = state.value_heads / layout_.tensor;
  const int key_heads = std::max(state.key_heads / layout_.tensor, 1);
  switch (op.kind) {
    case OperatorKind::state_convolution:
      add(op.role,
          StateConvolution{.channels = state.channels() / layout_.tensor,
                           .taps = state.taps,
                           .dtype = activation_,
                           .load = {},
                           .implementation = settings_.implementation},
          calls);
      break;
    case OperatorKind::state_scan:
      add(op.role,
          StateScan{.kind = state.kind,
                    .key_heads = key_heads,
                    .value_heads = value_heads,
                    .key_dim = state.key_dim,
                    .value_dim = state.value_dim,
                    .dtype = activation_,
                    .state_dtype = state.kept_in(),
                    .load = {},
                    .implementation = settings_.implementation},
          calls);
      break;
    default:  // the norm of its heads, and the gate that the same kernel applies
      add(op.role,
          QkNorm{.heads = value_heads,
                 .head_dim = state.value_dim,
                 .dtype = activation_,
                 .is_cold = false},
          calls);
  }
}

/// vLLM copies queries to as many heads as FlashMLA's kernels take, which SGLang's are written to.
void StageProgram::Builder::add_padding(int heads, int width, int calls) {
  constexpr int heads_multiple = 64;
  const int padded = (heads + heads_multiple - 1) / heads_multiple * heads_multiple;
  if (settings_.implementation.framework != Framework::vllm || padded == heads) return;
  add_pass("query_padding", (heads + padded) / 2, width, calls);
}

/// vLLM (flashmla_sparse.py) copies both parts of queries together, and translates what an index
/// picked, 32 bit each, to slots of the cache.
void StageProgram::Builder::add_latent_inputs(const AttentionShape& own, std::int64_t picked,
                                              int calls) {
  constexpr int row = 128, halves = 2;
  if (settings_.implementation.framework != Framework::vllm) return;
  const int width = model_.mla->kv_rank + model_.mla->rope_dim;
  add_pass("query_joining", own.query_heads, width, calls);
  add_padding(own.query_heads, width, calls);
  add_pass("index_slots", static_cast<int>(picked) * halves / row, row, calls);
}

/// A pass that reads and writes `width` values of each of `heads`: priced as a rotation of as many.
void StageProgram::Builder::add_pass(std::string_view role, int heads, int width, int calls) {
  add(role, Rope{.heads = heads, .head_dim = width, .dtype = activation_, .is_cold = false}, calls);
}

/// What a compressor puts out, values and scores in 32 bit, is written to the state from which the
/// launch behind it pools, norms and stores a key: as many bytes as keys and values in 16 bit.
void StageProgram::Builder::add_compressor_state(const Operator& op, int calls) {
  constexpr int row = 128;
  const bool is_index = op.role == "index_compressor";
  if (!is_index && op.role != "kv_compressor") return;
  add(is_index ? "index_state_write" : "kv_state_write",
      KvWrite{.kv_heads = static_cast<int>(op.out_features) / row, .head_dim = row}, calls);
}

void StageProgram::Builder::add_hyper_connection(const Operator& op, int calls) {
  add(op.role,
      HyperConnection{.hidden = op.in_features,
                      .streams = model_.hyper_streams,
                      .part = op.hyper,
                      .dtype = activation_,
                      .is_cold = false},
      calls);
}

}  // namespace foretoken
