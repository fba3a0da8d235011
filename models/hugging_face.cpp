// Hugging Face's config.json as a Transformer. Only architectures whose layers the operator graph
// can expand are taken; keys that change no kernel (rope_theta, torch_dtype …) are passed over.
// Defaults are those of the classes in huggingface/transformers, since save_pretrained and people
// leave defaults out.
#include <algorithm>

#include "models/hugging_face_architecture.hpp"
#include "models/model_fields.hpp"
#include "models/transformer.hpp"

namespace foretoken {
namespace {

/// transformers' default of max_window_layers in Qwen2Config, Qwen3Config and Qwen3MoeConfig.
constexpr int qwen_full_layers = 28;

void read_latent_attention(TableReader& table, Transformer& model) {
  MlaConfig mla;
  require_count(table, "num_attention_heads", model.query_heads, heads_limit);
  read_within(table, "q_lora_rank", mla.query_rank, 1, width_limit);
  require_count(table, "kv_lora_rank", mla.kv_rank, width_limit);
  require_count(table, "qk_nope_head_dim", mla.nope_dim, head_dim_limit);
  require_count(table, "qk_rope_head_dim", mla.rope_dim, head_dim_limit);
  require_count(table, "v_head_dim", mla.value_dim, head_dim_limit);
  model.kv_heads = model.query_heads;
  model.head_dim = mla.nope_dim + mla.rope_dim;
  model.mla = mla;
}

void read_attention(TableReader& table, const Architecture& architecture, Transformer& model) {
  if (architecture.is_latent) return read_latent_attention(table, model);
  const bool query = require_count(table, "num_attention_heads", model.query_heads, heads_limit);
  model.kv_heads = model.query_heads;
  if (read_within(table, "num_key_value_heads", model.kv_heads, 1, heads_limit) && query) {
    table.expect("num_key_value_heads", model.query_heads % model.kv_heads == 0,
                 fmt::format("{} does not divide num_attention_heads = {}", model.kv_heads,
                             model.query_heads));
  }
  if (table.find("head_dim") != nullptr) {
    read_within(table, "head_dim", model.head_dim, 1, head_dim_limit);
  } else if (query && model.hidden > 0) {
    model.head_dim = static_cast<int>(model.hidden / model.query_heads);
    table.expect("num_attention_heads", model.hidden % model.query_heads == 0,
                 fmt::format("{} does not divide hidden_size = {}, and there is no head_dim",
                             model.query_heads, model.hidden));
  }
  model.qk_norm = architecture.qk_norm;
  table.read("use_qk_norm", model.qk_norm);  // GLM
  model.qk_norm_full = architecture.qk_norm_full;
  bool bias = false;
  table.read("attention_bias", bias);
  model.qkv_bias = architecture.qkv_bias || bias;
  model.output_bias = bias && architecture.output_bias;
  model.attention_sinks = architecture.attention_sinks;
}

/// The kinds of layer that "layer_types" may list, as a window for each.
std::vector<std::int64_t> windows_by_type(TableReader& table, const std::vector<std::string>& types,
                                          const Transformer& model, std::int64_t window) {
  table.expect(
      "layer_types", types.size() == static_cast<std::size_t>(model.layers),
      fmt::format("lists {} layers, but num_hidden_layers = {}", types.size(), model.layers));
  std::vector<std::int64_t> windows;
  for (const std::string& type : types) {
    table.expect(
        "layer_types", type == "full_attention" || type == "sliding_attention",
        fmt::format("'{}' cannot be expanded; full_attention and sliding_attention can", type));
    windows.push_back(type == "sliding_attention" ? window : 0);
  }
  return windows;
}

void read_windows(TableReader& table, const Architecture& architecture, Transformer& model) {
  if (architecture.window == WindowUse::never) return;
  bool in_use = architecture.window != WindowUse::optional;
  table.read("use_sliding_window", in_use);
  std::int64_t window = 0;
  if (!in_use || !read_within(table, "sliding_window", window, 1, context_limit)) return;
  std::vector<std::string> types;
  if (table.read("layer_types", types)) {
    model.window_pattern = shortest_pattern(windows_by_type(table, types, model, window));
    return;
  }
  if (architecture.window == WindowUse::by_pattern) {
    int period = architecture.window_period;
    read_within(table, "sliding_window_pattern", period, 1, layers_limit);
    model.window_pattern.assign(static_cast<std::size_t>(period - 1), window);
    model.window_pattern.push_back(0);
    return;
  }
  int full_layers = architecture.window == WindowUse::optional ? qwen_full_layers : 0;
  read_within(table, "max_window_layers", full_layers, 0, layers_limit);
  std::vector<std::int64_t> windows(static_cast<std::size_t>(model.layers), window);
  std::fill_n(windows.begin(), std::min(full_layers, model.layers), 0);
  model.window_pattern = shortest_pattern(std::move(windows));
}

/// Leading dense layers by DeepSeek's rule; experts in every moe_layer_freq-th layer are a mistake.
int read_leading_dense_layers(TableReader& table) {
  int leading = 0;
  read_within(table, "first_k_dense_replace", leading, 0, layers_limit);
  int step = 1;
  if (read_within(table, "moe_layer_freq", step, 1, layers_limit)) {
    table.expect("moe_layer_freq", step == 1,
                 "makes layers between MoE layers dense; only the first layers can be dense");
  }
  return leading;
}

/// Leading dense layers by Qwen's rule: layer i has experts if it is not in mlp_only_layers and
/// decoder_sparse_step divides i + 1. Dense layers between MoE layers are a mistake.
int read_dense_layers(TableReader& table, const Transformer& model) {
  std::vector<int> dense_only;
  table.read("mlp_only_layers", dense_only);
  int step = 1;
  read_within(table, "decoder_sparse_step", step, 1, layers_limit);
  const auto is_dense = [&](int layer) {
    return (layer + 1) % step != 0 || std::ranges::find(dense_only, layer) != dense_only.end();
  };
  int leading = 0;
  while (leading < model.layers && is_dense(leading)) ++leading;
  for (int layer = leading; layer < model.layers; ++layer) {
    if (!is_dense(layer)) continue;
    table.fail(step > 1 ? "decoder_sparse_step" : "mlp_only_layers",
               fmt::format("makes layer {} dense after layer {} has experts; only the first layers "
                           "can be dense",
                           layer, leading));
    break;
  }
  return leading;
}

void read_experts(TableReader& table, const Architecture& architecture, Transformer& model) {
  MoeConfig moe;
  if (require_count(table, architecture.experts_key, moe.experts, experts_limit) &&
      require_count(table, "num_experts_per_tok", moe.topk, experts_limit)) {
    table.expect(
        "num_experts_per_tok", moe.topk <= moe.experts,
        fmt::format("{} exceeds {} = {}", moe.topk, architecture.experts_key, moe.experts));
  }
  require_count(table, architecture.expert_width_key, moe.intermediate, width_limit);
  if (architecture.dense_layers == DenseLayers::listed) {
    moe.dense_layers = read_dense_layers(table, model);
  }
  if (architecture.dense_layers == DenseLayers::leading) {
    moe.dense_layers = read_leading_dense_layers(table);
    std::int64_t shared = 0;
    read_within(table, "n_shared_experts", shared, 0, experts_limit);
    moe.shared_intermediate = shared * moe.intermediate;
  }
  moe.router_bias = architecture.router_bias;
  moe.expert_bias = architecture.expert_bias;
  if (moe.dense_layers < model.layers) model.moe = moe;
}

/// What changes the kernels of the MLP in a way that no operator stands for.
void refuse_other_mlps(TableReader& table, const Architecture& architecture) {
  std::string activation(architecture.activation);
  table.read(architecture.activation_key, activation);
  const bool is_silu = architecture.activation == "silu" && activation == "swish";
  table.expect(architecture.activation_key, activation == architecture.activation || is_silu,
               fmt::format("'{}' cannot be expanded; {} can", activation, architecture.activation));
  bool bias = false;
  table.read("mlp_bias", bias);
  table.expect("mlp_bias", !bias, "MLPs with a bias cannot be expanded");
}

/// The formats of checkpoints that DeepSeek, Qwen and OpenAI publish; other ways to quantise are
/// passed over.
void read_formats(TableReader& table, Transformer& model) {
  const Value* quantization = table.find("quantization_config");
  if (quantization == nullptr || !quantization->is_object()) return;
  TableReader entry(*quantization, table.diagnostics(), "quantization_config");
  std::string method;
  entry.read("quant_method", method);
  if (method == "fp8") {
    const bool has_blocks = entry.find("weight_block_size") != nullptr;
    model.released = WeightFormats(has_blocks ? DType::fp8_block : DType::fp8);
  } else if (method == "mxfp4") {
    model.released = WeightFormats(DType::bf16, DType::mxfp4);
  }
}

/// Where the language model is described: the config itself, or its "text_config".
const Value& text_of(const Value& config, const Architecture& architecture) {
  if (!architecture.nests_text) return config;
  const Value* text = config.find("text_config");
  if (text == nullptr || !text->is_object()) {
    throw ConfigError(config.position, fmt::format("{} needs a \"text_config\" that describes its "
                                                   "language model",
                                                   architecture.name));
  }
  return *text;
}

}  // namespace

Transformer import_hugging_face(const Value& config, const std::string& name) {
  const Architecture& architecture = find_architecture(config);
  Diagnostics diagnostics;
  TableReader table(text_of(config, architecture), diagnostics, "");
  Transformer model;
  model.name = name;
  model.title = name;
  require_count(table, "num_hidden_layers", model.layers, layers_limit);
  require_count(table, "hidden_size", model.hidden, width_limit);
  read_attention(table, architecture, model);
  require_count(table, "vocab_size", model.vocabulary, vocabulary_limit);
  require_count(table, "max_position_embeddings", model.context_max, context_limit);
  model.tied_embeddings = architecture.tied_embeddings;
  table.read("tie_word_embeddings", model.tied_embeddings);
  model.post_norms = architecture.post_norms;
  read_windows(table, architecture, model);
  if (!architecture.experts_key.empty()) read_experts(table, architecture, model);
  if (!model.moe || model.moe->dense_layers > 0) {
    require_count(table, "intermediate_size", model.intermediate, width_limit);
  }
  read_within(table, "num_nextn_predict_layers", model.mtp_layers, 0, layers_limit);
  refuse_other_mlps(table, architecture);
  read_formats(table, model);
  check_parameter_limit(model, config.position, diagnostics);
  diagnostics.throw_if_any();
  return model;
}

}  // namespace foretoken
