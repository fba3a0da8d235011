// Expands a stage's operators into the steps of its StageProgram. Each kind of operator becomes the
// kernels that vLLM launches for it, with one rank's shapes.
#include "workloads/stage_builder.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace foretoken {

StageProgram::Builder::Builder(const Transformer& model, const ParallelLayout& layout,
                               const ExecutionSettings& settings, int stage)
    : model_(model),
      layout_(layout),
      settings_(settings),
      stage_(stage),
      activation_(activation_dtype(settings.dtype)) {}

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
    return model_.is_moe_layer(a) == model_.is_moe_layer(b) &&
           model_.window(a) == model_.window(b) && model_.kind(a) == model_.kind(b);
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
  start_block(1);
  add_collective("pipeline_all_gather", CollectiveOp::all_gather,
                 activation_bytes(2 * model_.hidden), 1);
}

void StageProgram::Builder::add_send() {
  start_block(1);
  add("pipeline_send",
      Collective{.op = CollectiveOp::send_recv, .group = CommGroup::next_stage, .ranks = 2}, 1);
  steps_.back().bytes_per_row = activation_bytes(2 * model_.hidden) / layout_.tensor;
}

void StageProgram::Builder::add_group(const LayerGroup& group) {
  start_block(group.layers);
  forks_before_ += 2;
  has_index_ = model_.attention(group.last).index.has_value();
  for (Operator& op : layer_graph(model_, group.last)) {
    // Layer 0 differs from its like in one kernel: its first norm has no residual to add.
    const bool splits =
        group.has_first_of_model && group.layers > 1 && op.fused_add && op.role == "input_norm";
    if (splits) {
      op.fused_add = false;
      add_operator(op, 1);
      op.fused_add = true;
    }
    const std::size_t first = steps_.size();
    add_operator(op, group.layers - (splits ? 1 : 0));
    for (Step& step : std::span(steps_).subspan(first)) {
      if (step.attends == Attends::always) step.attends = attends_of(op);
      if (!std::holds_alternative<Collective>(step.call.kernel)) put_on_stream(op, step);
    }
  }
}

void StageProgram::Builder::add_graph(const OperatorGraph& graph) {
  start_block(1);
  for (const Operator& op : graph) add_operator(op, 1);
}

void StageProgram::Builder::add_operator(const Operator& op, int calls) {
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
          QkNorm{.heads = new_heads(heads_of(op)),
                 .head_dim = op.attention.head_dim,
                 .dtype = activation_,
                 .is_cold = false},
          calls);
      break;
    case OperatorKind::rope:
      if (!attention_rotates_and_writes()) add_rope(op, calls);
      break;
    case OperatorKind::kv_write:  // DeepSeek-V4's rotation writes the cache, too
      if (!attention_rotates_and_writes() && !model_.compressed) add_kv_write(op, calls);
      break;
    case OperatorKind::head_projection:
      add_head_projection(op, calls);
      break;
    case OperatorKind::attention:
      add_attention(op, calls);
      break;
    case OperatorKind::activation:
      add(op.role,
          SiluAndMul{.dim = is_whole(op) ? op.in_features : op.in_features / layout_.tensor,
                     .dtype = activation_,
                     .is_cold = false},
          calls, rows_of(op));
      break;
    case OperatorKind::addition:  // reads two, writes one, as an activation does
      add(op.role, SiluAndMul{.dim = op.in_features, .dtype = activation_, .is_cold = false}, calls,
          rows_of(op));
      break;
    case OperatorKind::topk_routing:
      add(op.role,
          TopKRouting{.experts = model_.moe->experts, .topk = model_.moe->topk, .is_cold = false},
          calls, rows_of(op));
      break;
    case OperatorKind::experts:
      if (layout_.expert_gpus > 0) return add_experts_apart(op, calls);
      if (shares_attention()) return add_exchanged_experts(op, calls);
      add_experts(op, calls);
      break;
    case OperatorKind::key_indexer:
      add_key_indexer(op, calls);
      break;
    case OperatorKind::state_convolution:
    case OperatorKind::state_scan:
    case OperatorKind::state_norm:
      add_state(op, calls);
      break;
    case OperatorKind::hyper_connection:
      add_hyper_connection(op, calls);
      break;
    case OperatorKind::sampling:
      add(op.role,
          Sampling{.vocabulary = model_.vocabulary, .method = settings_.sampling, .is_cold = false},
          calls, Rows::drawn);
      add("draft_verification",
          DraftVerification{.vocabulary = model_.vocabulary,
                            .method = settings_.sampling,
                            .framework = settings_.implementation.framework},
          calls, Rows::judged);
      break;
  }
  // What attention ranks of their own put out for their experts needs no sum.
  if (!op.all_reduce.empty() && !is_whole(op)) {
    add_collective(op.all_reduce, CollectiveOp::all_reduce, activation_bytes(model_.hidden), calls);
  }
}

/// TensorRT-LLM's attention rotates keys and writes the cache itself, and is measured with both;
/// but for latent prompts.
bool StageProgram::Builder::attention_rotates_and_writes() const {
  return settings_.implementation.framework == Framework::trtllm && !model_.mla &&
         !model_.compressed;
}

/// Decodes have rotation and cache write in TensorRT-LLM's attention, and in its graphs the
/// latent's norm is beside the query's, on a stream of its own.
StageProgram::Rows StageProgram::Builder::rows_of_latents() const {
  return settings_.implementation.framework == Framework::trtllm && model_.mla ? Rows::prompts
                                                                               : Rows::tokens;
}

void StageProgram::Builder::add_rope(const Operator& op, int calls) {
  // Latent attention: the key's rotary part is one head for all.
  const AttentionShape own = heads_of(op);
  const bool shares_key = model_.mla || model_.compressed;
  const int heads = shares_key ? own.query_heads + 1 : new_heads(own);
  // DeepSeek-V4's queries are normalised and rotated in one pass over whole heads.
  const int dim = model_.mla ? model_.mla->rope_dim : op.attention.head_dim;
  add(op.role, Rope{.heads = heads, .head_dim = dim, .dtype = activation_, .is_cold = false}, calls,
      rows_of_latents());
}

void StageProgram::Builder::add_kv_write(const Operator& op, int calls) {
  const AttentionShape own = heads_of(op);
  KvWrite write{.kv_heads = own.kv_heads,
                .head_dim = own.head_dim,
                .dtype = activation_,
                .kv_dtype = settings_.kv_dtype};
  if (model_.mla) {
    // KvWrite counts keys and values; a token's latent and rotary key are as much as both of a head
    // of half their width.
    write.kv_heads = 1;
    write.head_dim = (model_.mla->kv_rank + model_.mla->rope_dim + 1) / 2;
  }
  add(op.role, write, calls, rows_of_latents());
}

/// Heads whose queries, and keys where the layer has any of its own, are normed and rotated.
int StageProgram::Builder::new_heads(const AttentionShape& own) {
  return own.query_heads + (own.shares_kv ? 0 : own.kv_heads);
}

AttentionShape StageProgram::Builder::heads_of(const Operator& op) const {
  AttentionShape own = op.attention;
  own.query_heads = query_heads_per_rank(op.attention, layout_);
  own.kv_heads = kv_heads_per_rank(op.attention, layout_);
  own.head_dim = own.value_dim = (own.head_dim + own.value_dim) / 2;
  return own;
}

void StageProgram::Builder::add_attention(const Operator& op, int calls) {
  const AttentionShape own = heads_of(op);
  if (model_.compressed || op.attention.index) return add_sparse_attention(op, calls);
  const auto kernel_of = [&](int query_heads) -> Kernel {
    if (model_.mla) return latent_attention(query_heads);
    return Attention{.query_heads = query_heads,
                     .kv_heads = own.kv_heads,
                     .head_dim = own.head_dim,
                     .dtype = activation_,
                     .kv_dtype = settings_.kv_dtype,
                     .window = own.is_chunked ? 0 : own.window,
                     .page_tokens = settings_.block_tokens,
                     .load = {},
                     .implementation = settings_.implementation};
  };
  if (layout_.prefill_context > 1) add_prompt_gather(own, calls);
  if (model_.mla) add_latent_expansion(own, calls);
  const int parts = layout_.decode_context;
  if (parts == 1) {
    add(op.role, kernel_of(own.query_heads), calls);
    if (own.is_chunked) steps_.back().chunk = own.window;
    return;
  }
  add_query_gather(own, calls);
  // New keys of prompts are on every rank, and older ones cost as many operations shared as whole.
  add("attention_prompts", kernel_of(own.query_heads), calls, Rows::prompts);
  add(op.role, kernel_of(own.query_heads * parts), calls, Rows::decodes);
  steps_.back().call.context_parts = parts;
  add_context_merge(own, calls);
}

Mla StageProgram::Builder::latent_attention(int query_heads) const {
  return Mla{.query_heads = query_heads,
             .latent_dim = model_.mla->kv_rank,
             .rope_dim = model_.mla->rope_dim,
             .dtype = activation_,
             .kv_dtype = settings_.kv_dtype,
             .load = {},
             .implementation = settings_.implementation,
             .nope_dim = model_.mla->nope_dim,
             .value_dim = model_.mla->value_dim};
}

Gemm StageProgram::Builder::latent_expansion(const AttentionShape& own) const {
  const MlaConfig& mla = *model_.mla;
  return product(std::int64_t{own.query_heads} * (mla.nope_dim + mla.value_dim), mla.kv_rank,
                 settings_.formats().attention);
}

/// Keys and values of prompts, made from their latents. In vLLM the call that prices attention does
/// it (and its tables were measured so); TensorRT-LLM and SGLang launch a product before theirs.
void StageProgram::Builder::add_latent_expansion(const AttentionShape& own, int calls) {
  const Framework framework = settings_.implementation.framework;
  if (framework != Framework::trtllm && framework != Framework::sglang) return;
  add("kv_b_proj", latent_expansion(own), calls,
      layout_.prefill_context > 1 ? Rows::gathered : Rows::expanded);
}

/// Sparse attention works on the latent for prompts as well (vLLM's FlashMLA-sparse).
void StageProgram::Builder::add_head_projection(const Operator& op, int calls) {
  const Framework framework = settings_.implementation.framework;
  const DType format = settings_.formats().attention;
  // Weights of one scale stay in 8 bit in SGLang. TensorRT-LLM's of blocks take in whole blocks of
  // attention what 16-bit ones do: the table of its products has a quantisation that they do not.
  const bool is_8bit = framework == Framework::sglang && format == DType::fp8;
  add(op.role,
      BatchedGemm{.batch = query_heads_per_rank(op.attention, layout_),
                  .n = op.out_features,
                  .k = op.in_features,
                  .dtype = is_8bit ? format : activation_,
                  .implementation = settings_.implementation},
      calls, op.attention.index ? Rows::tokens : Rows::decodes);
}

/// A norm over the heads of all ranks. Replicated KV heads are exchanged with their copies, since
/// every rank sends what it has. Returns the width of the norm on this rank.
std::int64_t StageProgram::Builder::add_heads_exchange(const Operator& op, int calls) {
  const AttentionShape rank = heads_of(op);
  const auto width = [&](int heads) { return std::int64_t{heads} * op.attention.head_dim; };
  const bool is_key = op.role == "k_norm";
  const std::int64_t own = width(is_key ? rank.kv_heads : rank.query_heads);
  if (!model_.qk_norm_sums || settings_.implementation.framework == Framework::trtllm) {
    add_collective("qk_norm_all_gather", CollectiveOp::all_gather,
                   activation_bytes(own * layout_.tensor), calls);
    return op.in_features;
  }
  if (!is_key && layout_.tensor > 1) {  // for both at once; launches that sum cost what norms do
    const auto squares = [&](std::int64_t dim) {
      return RmsNorm{.dim = dim, .dtype = activation_, .is_cold = false};
    };
    constexpr double two_sums = 2 * sizeof(float);
    add("q_squares", squares(own), calls);
    add("k_squares", squares(width(rank.kv_heads)), calls);
    add_collective("qk_norm_all_reduce", CollectiveOp::all_reduce, two_sums, calls);
  }
  return own;
}

void StageProgram::Builder::add_norm(const Operator& op, int calls) {
  const bool is_beside_query_norm = op.role == "kv_a_norm";
  if (is_beside_query_norm && model_.compressed) return;  // in one launch with the query's
  const std::int64_t width = op.heads ? add_heads_exchange(op, calls) : op.in_features;
  if (op.fused_add) {
    add(op.role, FusedAddRmsNorm{.dim = width, .dtype = activation_, .is_cold = false}, calls);
    if (follows_sum()) {
      steps_.back().fused_rows =
          std::floor(settings_.fused_all_reduce.value() / activation_bytes(width));
    }
  } else {
    add(op.role, RmsNorm{.dim = width, .dtype = activation_, .is_cold = false}, calls,
        is_beside_query_norm ? rows_of_latents() : Rows::tokens);
  }
}

/// Whether residuals are added to what the ranks have summed: not behind experts that exchange
/// tokens, nor where another norm comes between.
bool StageProgram::Builder::follows_sum() const {
  return layout_.tensor > 1 && !shares_attention() && !model_.post_norms;
}

Gemm StageProgram::Builder::product(std::int64_t n, std::int64_t k, DType format) const {
  Gemm gemm{.n = n, .k = k, .dtype = format, .implementation = settings_.implementation};
  if (format == DType::fp8_block) gemm.implementation.source = settings_.block_kernels;
  return gemm;
}

void StageProgram::Builder::add_linear(const Operator& op, int calls) {
  if (op.role == "index_qk_proj" && fuses_block_index()) return;
  const LinearShape shape = shape_per_rank(op, model_, layout_);
  const bool is_head = op.shard == Shard::vocabulary;
  const Rows rows = is_head ? Rows::logits : rows_of(op);
  add(op.role,
      product(shape.out_features + (op.heads ? fused_index_width(op.attention) : 0),
              shape.in_features, format_of(op.part, settings_.formats())),
      calls, rows);
  add_adapters(op, shape, calls);
  add_compressor_state(op, calls);
  if (is_head) {
    add_collective("logits_all_gather", CollectiveOp::all_gather,
                   activation_bytes(padded_vocabulary(model_)), calls, rows);
  }
}

/// As vLLM has it: down to the rank in one launch and up from it in another. Products that are one
/// for several (queries, keys and values; gate and up) have as many adapters' pairs, which read the
/// same rows. With column-parallel products every rank goes down with whole weights, with
/// row-parallel ones up.
void StageProgram::Builder::add_adapters(const Operator& op, const LinearShape& shape, int calls) {
  if (!settings_.lora) return;
  const bool is_of_attention = op.part == WeightPart::attention;
  if (op.part == WeightPart::plain ||
      (settings_.lora->targets == LoraTargets::attention && !is_of_attention)) {
    return;
  }
  const int pairs = op.role == "qkv_proj" ? 3 : op.role.ends_with("gate_up_proj") ? 2 : 1;
  const std::int64_t rank = settings_.lora->rank;
  add("adapters_shrink",
      LowRank{.in = shape.in_features, .out = pairs * rank, .dtype = activation_}, calls,
      Rows::adapted);
  add("adapters_expand", LowRank{.in = rank, .out = shape.out_features, .dtype = activation_},
      calls, Rows::adapted);
}

StageProgram::Rows StageProgram::Builder::rows_of(const Operator& op) const {
  if (is_whole(op)) return is_behind_gather(op) ? Rows::stage : Rows::share;
  return Rows::tokens;
}

void StageProgram::Builder::add_collective(std::string_view role, CollectiveOp op,
                                           double bytes_per_row, int calls, Rows rows) {
  if (layout_.tensor == 1) return;
  add(role, Collective{.op = op, .group = CommGroup::tensor_parallel, .ranks = layout_.tensor},
      calls, rows);
  steps_.back().bytes_per_row = bytes_per_row;
}

/// Beside experts on GPUs of their own, attention's collectives are part of its turn.
Stream StageProgram::Builder::stream_of(const Kernel& kernel) const {
  const auto* collective = std::get_if<Collective>(&kernel);
  const bool communicates = collective != nullptr && collective->group != CommGroup::next_stage;
  return communicates && layout_.expert_gpus == 0 ? Stream::communication : Stream::compute;
}

void StageProgram::Builder::add(std::string_view role, Kernel kernel, int calls, Rows rows) {
  const Stream stream = stream_of(kernel);
  add(role, std::move(kernel), calls, rows, stream);
}

void StageProgram::Builder::add(std::string_view role, Kernel kernel, int calls, Rows rows,
                                Stream stream) {
  const int segment = segment_of(stream);
  const bool is_of_prompts =
      rows == Rows::prompts || rows == Rows::expanded || rows == Rows::contexts;
  const LoadPart part = rows == Rows::decodes ? LoadPart::decode
                        : is_of_prompts       ? LoadPart::prefill
                                              : LoadPart::all;
  steps_.push_back({.call = {role, std::move(kernel), calls, segment, part}, .rows = rows});
}

void StageProgram::Builder::start_block(int repeats) {
  const int first = blocks_.empty() ? 0
                                    : blocks_.back().first_segment +
                                          static_cast<int>(blocks_.back().segments.size());
  blocks_.push_back({.first_segment = first, .segments = {}, .repeats = repeats});
}

int StageProgram::Builder::segment_of(Stream stream) {
  SegmentBlock& block = blocks_.back();
  if (block.segments.empty() || block.segments.back() != stream) block.segments.push_back(stream);
  return block.first_segment + static_cast<int>(block.segments.size()) - 1;
}

double StageProgram::Builder::activation_bytes(std::int64_t elements) const {
  return static_cast<double>(elements) * bytes_per_element(activation_);
}

}  // namespace foretoken
