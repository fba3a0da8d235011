// Fields of config.json that most decoders share. Defaults are those of the classes in
// huggingface/transformers, since save_pretrained and people leave defaults out.
#include "models/hugging_face/decoder.hpp"

#include <algorithm>
#include <array>

#include "models/model_fields.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

/// transformers' default of max_window_layers in Qwen2Config, Qwen3Config and Qwen3MoeConfig.
constexpr int qwen_full_layers = 28;

/// The second is what Gemma3TextConfig writes.
constexpr auto period_keys =
    std::to_array<std::string_view>({"sliding_window_pattern", "_sliding_window_pattern"});

void read_latent_attention(TableReader& table, Transformer& model) {
  MlaConfig mla;
  require_count(table, "num_attention_heads", model.query_heads, heads_limit);
  read_within(table, "q_lora_rank", mla.query_rank, 1, width_limit);
  require_count(table, "kv_lora_rank", mla.kv_rank, width_limit);
  require_count(table, "qk_nope_head_dim", mla.nope_dim, head_dim_limit);
  require_count(table, "qk_rope_head_dim", mla.rope_dim, head_dim_limit);
  require_count(table, "v_head_dim", mla.value_dim, head_dim_limit);
  for (const char* key : {"num_key_value_heads", "head_dim", "qk_head_dim"}) table.find(key);
  model.kv_heads = model.query_heads;
  model.head_dim = mla.nope_dim + mla.rope_dim;
  model.mla = mla;
}

void read_grouped_attention(TableReader& table, Transformer& model) {
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
}

void read_window_period(TableReader& table, int period, std::int64_t window, Transformer& model) {
  for (const std::string_view key : period_keys) read_within(table, key, period, 1, layers_limit);
  model.window_pattern.assign(static_cast<std::size_t>(period - 1), window);
  model.window_pattern.push_back(0);
}

}  // namespace

void read_sizes(ConfigReader& config, const DecoderTraits& traits) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  if (model.layers == 0) {
    require_count(table, "num_hidden_layers", model.layers, layers_limit);
  } else {
    table.find("num_hidden_layers");
  }
  require_count(table, "hidden_size", model.hidden, width_limit);
  require_count(table, "vocab_size", model.vocabulary, vocabulary_limit);
  require_count(table, "max_position_embeddings", model.context_max, context_limit);
  model.tied_embeddings = traits.tied_embeddings;
  table.read("tie_word_embeddings", model.tied_embeddings);
  model.post_norms = traits.post_norms;
  for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers"}) {
    read_within(table, key, model.mtp_layers, 0, layers_limit);
  }
}

void read_attention(ConfigReader& config, const DecoderTraits& traits) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  if (traits.is_latent) return read_latent_attention(table, model);
  read_grouped_attention(table, model);
  model.qk_norm = traits.qk_norm;
  table.read("use_qk_norm", model.qk_norm);  // GLM
  model.qk_norm_full = traits.qk_norm_full;
  bool bias = false;
  table.read("attention_bias", bias);
  model.qkv_bias = traits.qkv_bias || bias;
  table.read("qkv_bias", model.qkv_bias);
  model.output_bias = bias && traits.output_bias;
  model.attention_sinks = traits.attention_sinks;
}

std::vector<std::string> read_layer_types(ConfigReader& config,
                                          const std::vector<std::string_view>& known) {
  TableReader& table = config.table;
  std::vector<std::string> types;
  if (!table.read("layer_types", types)) return {};
  table.expect("layer_types", types.size() == static_cast<std::size_t>(config.model.layers),
               fmt::format("lists {} layers, but num_hidden_layers = {}", types.size(),
                           config.model.layers));
  for (const std::string& type : types) {
    table.expect("layer_types", std::ranges::find(known, type) != known.end(),
                 fmt::format("'{}' cannot be expanded; {} can", type, fmt::join(known, " and ")));
  }
  return types;
}

void read_windows(ConfigReader& config, const DecoderTraits& traits) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  for (const char* key : {"max_window_layers", "sliding_window", "use_sliding_window"}) {
    table.find(key);  // said even where nothing follows from it
  }
  if (traits.window == WindowUse::by_pattern) {
    for (const std::string_view key : period_keys) table.find(key);
  }
  const auto types = read_layer_types(config, {"full_attention", "sliding_attention"});
  const bool is_windowed =
      std::ranges::find(types, std::string("sliding_attention")) != types.end();
  if (traits.window == WindowUse::never) {
    table.expect("layer_types", !is_windowed,
                 "lists sliding windows, which this architecture does not have");
    return;
  }
  bool in_use = traits.window != WindowUse::optional;
  table.read("use_sliding_window", in_use);
  std::int64_t window = 0;
  if (!in_use || !read_within(table, "sliding_window", window, 1, context_limit)) {
    table.expect("layer_types", !is_windowed || in_use,
                 "lists sliding windows, but use_sliding_window is false");
    table.expect("layer_types", !is_windowed || !in_use,
                 "lists sliding windows, but there is no sliding_window");
    return;
  }
  if (!types.empty()) {
    std::vector<std::int64_t> windows;
    for (const std::string& type : types) {
      windows.push_back(type == "sliding_attention" ? window : 0);
    }
    model.window_pattern = shortest_pattern(std::move(windows));
    return;
  }
  if (traits.window == WindowUse::by_pattern) {
    return read_window_period(table, traits.window_period, window, model);
  }
  int full_layers = traits.window == WindowUse::optional ? qwen_full_layers : 0;
  read_within(table, "max_window_layers", full_layers, 0, layers_limit);
  std::vector<std::int64_t> windows(static_cast<std::size_t>(model.layers), window);
  std::fill_n(windows.begin(), std::min(full_layers, model.layers), 0);
  model.window_pattern = shortest_pattern(std::move(windows));
}

void set_kinds(Transformer& model, std::vector<LayerKind> kinds, std::vector<int> kind_of_layer) {
  if (kind_of_layer.empty()) return;  // a mistake was reported
  model.kinds = std::move(kinds);
  model.kind_pattern = shortest_repeat(std::move(kind_of_layer));
}

std::vector<int> kinds_of(const std::vector<std::string>& types,
                          const std::vector<std::string_view>& names) {
  std::vector<int> kinds;
  for (const std::string& type : types) {
    kinds.push_back(static_cast<int>(std::ranges::find(names, type) - names.begin()));
  }
  return kinds;
}

void read_state_dtype(TableReader& table, std::string_view key, StateShape& state) {
  std::string dtype;
  if (table.read(key, dtype)) state.state_dtype = dtype == "float32" ? DType::fp32 : DType::bf16;
}

void leave_out_head_gates(Transformer& model) {
  model.left_out.emplace_back("a gate for each attention head: its few weights and its work");
}

void refuse_bias(TableReader& table, std::string_view key) {
  bool bias = false;
  table.read(key, bias);
  table.expect(key, !bias, "linear layers with a bias cannot be expanded");
}

void pass_over(TableReader& table, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) table.find(key);
}

void read_dense_width(ConfigReader& config) {
  if (has_dense_layers(config.model)) {
    require_count(config.table, "intermediate_size", config.model.intermediate, width_limit);
  } else {
    config.table.find("intermediate_size");
  }
}

void check_mlp(ConfigReader& config, const DecoderTraits& traits) {
  TableReader& table = config.table;
  std::string activation(traits.activation);
  table.read(traits.activation_key, activation);
  // Gates of other curves cost the same.
  const bool is_silu = traits.activation == "silu" &&
                       (activation == "swish" || activation == "swigluoai" || activation == "situ");
  table.expect(traits.activation_key, activation == traits.activation || is_silu,
               fmt::format("'{}' cannot be expanded; {} can", activation, traits.activation));
  refuse_bias(table, "mlp_bias");
}

void read_decoder(ConfigReader& config, const DecoderTraits& traits) {
  read_sizes(config, traits);
  read_attention(config, traits);
  read_windows(config, traits);
  if (!traits.experts_key.empty()) read_experts(config, traits);
  read_dense_width(config);
  check_mlp(config, traits);
}

}  // namespace foretoken
