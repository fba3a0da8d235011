// Hugging Face's config.json as a Transformer. Only architectures whose layers the operator graph
// can expand are taken; keys that change no kernel (rope_theta, torch_dtype …) are passed over.
// Defaults are those of the classes in huggingface/transformers, since save_pretrained and people
// leave defaults out.
#include <algorithm>
#include <array>

#include "models/model_fields.hpp"
#include "models/transformer.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

/// Llama and OLMoE ignore sliding_window, Mistral and Mixtral always use it, Qwen asks
/// use_sliding_window and leaves the first max_window_layers full.
enum class WindowUse { never, always, optional };

struct Architecture {
  std::string_view name;
  bool qkv_bias = false;
  bool qk_norm = false;
  bool qk_norm_full = false;
  WindowUse window = WindowUse::never;
  std::string_view experts_key = {};  // "" = dense
  std::string_view expert_width_key = {};
};

constexpr auto architectures = std::to_array<Architecture>({
    {.name = "LlamaForCausalLM"},
    {.name = "MistralForCausalLM", .window = WindowUse::always},
    {.name = "Qwen2ForCausalLM", .qkv_bias = true, .window = WindowUse::optional},
    {.name = "Qwen3ForCausalLM", .qk_norm = true, .window = WindowUse::optional},
    {.name = "Qwen3MoeForCausalLM",
     .qk_norm = true,
     .window = WindowUse::optional,
     .experts_key = "num_experts",
     .expert_width_key = "moe_intermediate_size"},
    {.name = "MixtralForCausalLM",
     .window = WindowUse::always,
     .experts_key = "num_local_experts",
     .expert_width_key = "intermediate_size"},
    {.name = "OlmoeForCausalLM",
     .qk_norm_full = true,
     .experts_key = "num_experts",
     .expert_width_key = "intermediate_size"},
});

/// transformers' default of max_window_layers in Qwen2Config, Qwen3Config and Qwen3MoeConfig.
constexpr int qwen_full_layers = 28;

/// The first of "architectures" (released configs have exactly one).
const Architecture& find_architecture(const Value& config) {
  if (!config.is_object()) {
    throw ConfigError(config.position, "a Hugging Face config must be one JSON object");
  }
  Diagnostics diagnostics;
  TableReader table(config, diagnostics, "");
  std::vector<std::string> names;
  if (table.require("architectures", names)) {
    table.expect("architectures", !names.empty(), "must name one architecture");
  }
  diagnostics.throw_if_any();
  const auto found = std::ranges::find(architectures, names.front(), &Architecture::name);
  if (found != architectures.end()) return *found;
  std::vector<std::string_view> known;
  for (const Architecture& architecture : architectures) known.push_back(architecture.name);
  throw ConfigError(table.position("architectures"),
                    unknown_name_message("architecture", names.front(), known) +
                        "; a model built like one of these can be described in TOML");
}

void read_attention(TableReader& table, const Architecture& architecture, Transformer& model) {
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
  model.qk_norm_full = architecture.qk_norm_full;
  bool bias = false;
  table.read("attention_bias", bias);
  model.qkv_bias = architecture.qkv_bias || bias;
  model.output_bias = bias;
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
  bool in_use = architecture.window == WindowUse::always;
  table.read("use_sliding_window", in_use);
  std::int64_t window = 0;
  if (!in_use || !read_within(table, "sliding_window", window, 1, context_limit)) return;
  std::vector<std::string> types;
  if (table.read("layer_types", types)) {
    model.window_pattern = shortest_pattern(windows_by_type(table, types, model, window));
    return;
  }
  int full_layers = architecture.window == WindowUse::optional ? qwen_full_layers : 0;
  read_within(table, "max_window_layers", full_layers, 0, layers_limit);
  std::vector<std::int64_t> windows(static_cast<std::size_t>(model.layers), window);
  std::fill_n(windows.begin(), std::min(full_layers, model.layers), 0);
  model.window_pattern = shortest_pattern(std::move(windows));
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
  if (architecture.expert_width_key != "intermediate_size") {
    moe.dense_layers = read_dense_layers(table, model);
  }
  if (moe.dense_layers < model.layers) model.moe = moe;
}

/// What changes the kernels of the MLP in a way that no operator stands for.
void refuse_other_mlps(TableReader& table) {
  std::string activation = "silu";
  table.read("hidden_act", activation);
  table.expect("hidden_act", activation == "silu" || activation == "swish",
               fmt::format("'{}' cannot be expanded; silu can", activation));
  bool bias = false;
  table.read("mlp_bias", bias);
  table.expect("mlp_bias", !bias, "MLPs with a bias cannot be expanded");
}

}  // namespace

Transformer import_hugging_face(const Value& config, const std::string& name) {
  const Architecture& architecture = find_architecture(config);
  Diagnostics diagnostics;
  TableReader table(config, diagnostics, "");
  Transformer model;
  model.name = name;
  model.title = name;
  require_count(table, "num_hidden_layers", model.layers, layers_limit);
  require_count(table, "hidden_size", model.hidden, width_limit);
  read_attention(table, architecture, model);
  require_count(table, "vocab_size", model.vocabulary, vocabulary_limit);
  require_count(table, "max_position_embeddings", model.context_max, context_limit);
  table.read("tie_word_embeddings", model.tied_embeddings);
  read_windows(table, architecture, model);
  if (!architecture.experts_key.empty()) read_experts(table, architecture, model);
  if (!model.moe || model.moe->dense_layers > 0) {
    require_count(table, "intermediate_size", model.intermediate, width_limit);
  }
  refuse_other_mlps(table);
  check_parameter_limit(model, config.position, diagnostics);
  diagnostics.throw_if_any();
  return model;
}

}  // namespace foretoken
