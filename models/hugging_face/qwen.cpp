// Qwen, and Xiaomi's MiMo, which is built on it. Sources: transformers' configuration and modeling
// files of qwen2, qwen2_moe, qwen3, qwen3_moe, qwen3_vl, qwen3_next; MiMo's as published with the
// models.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

constexpr DecoderTraits qwen2 = {.qkv_bias = true, .window = WindowUse::optional};
constexpr DecoderTraits qwen3 = {.qk_norm = true, .window = WindowUse::optional};

constexpr DecoderTraits with_experts(DecoderTraits traits) {
  traits.experts_key = "num_experts";
  traits.expert_width_key = "moe_intermediate_size";
  traits.dense_layers = DenseLayers::listed;
  return traits;
}

/// The expert that every token passes, behind a gate.
void read_shared_expert(ConfigReader& config) {
  std::int64_t width = 0;
  read_within(config.table, "shared_expert_intermediate_size", width, 0, width_limit);
  if (!config.model.moe || width == 0) return;
  config.model.moe->shared_intermediate = width;
  config.model.moe->shared_gate = true;
}

}  // namespace

void read_qwen2(ConfigReader& config) {
  read_decoder(config, qwen2);
  read_vision_tower(config);
}

void read_qwen2_audio(ConfigReader& config) {
  read_qwen2(config);
  read_audio_tower(config, "qwen2_audio");
}

void read_qwen2_omni(ConfigReader& config) {
  read_qwen2(config);
  read_audio_tower(config, "qwen2_5_omni");
}

void read_qwen2_moe(ConfigReader& config) {
  read_decoder(config, with_experts(qwen2));
  read_shared_expert(config);
}

void read_qwen3(ConfigReader& config) { read_decoder(config, qwen3); }

void read_qwen3_moe(ConfigReader& config) {
  read_decoder(config, with_experts(qwen3));
  read_shared_expert(config);
}

void read_qwen3_vl(ConfigReader& config) {
  read_qwen3(config);
  read_vision_tower(config);
}

void read_qwen3_vl_moe(ConfigReader& config) {
  read_qwen3_moe(config);
  read_vision_tower(config);
}

void read_qwen3_omni(ConfigReader& config) {
  read_qwen3_vl_moe(config);
  read_audio_tower(config, "qwen3_omni");
}

namespace {

/// The gated delta net of Qwen3-Next and Qwen3.5; defaults are Qwen3NextConfig's.
StateShape read_delta_net(TableReader& table) {
  StateShape state{.kind = StateKind::delta_net,
                   .key_heads = 16,
                   .value_heads = 32,
                   .key_dim = 128,
                   .value_dim = 128};
  read_within(table, "linear_num_key_heads", state.key_heads, 1, heads_limit);
  read_within(table, "linear_num_value_heads", state.value_heads, 1, heads_limit);
  read_within(table, "linear_key_head_dim", state.key_dim, 1, head_dim_limit);
  read_within(table, "linear_value_head_dim", state.value_dim, 1, head_dim_limit);
  read_within(table, "linear_conv_kernel_dim", state.taps, 1, head_dim_limit);
  read_state_dtype(table, "mamba_ssm_dtype", state);
  table.expect(
      "linear_num_key_heads", state.value_heads % state.key_heads == 0,
      fmt::format("{} does not divide the {} value heads", state.key_heads, state.value_heads));
  return state;
}

/// The last of so many layers is full attention, where layer_types does not say.
std::vector<std::string> read_hybrid_types(ConfigReader& config) {
  auto types = read_layer_types(config, {"linear_attention", "full_attention"});
  int interval = 4;
  read_within(config.table, "full_attention_interval", interval, 1, layers_limit);
  if (!types.empty()) return types;
  for (int layer = 0; layer < config.model.layers; ++layer) {
    types.emplace_back((layer + 1) % interval == 0 ? "full_attention" : "linear_attention");
  }
  return types;
}

}  // namespace

void read_qwen_hybrid(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  DecoderTraits traits = {.qk_norm = true};
  std::int64_t experts = 0;
  if (read_within(table, "num_experts", experts, 0, experts_limit) && experts > 0) {
    traits = with_experts(traits);
  }
  read_sizes(config, traits);
  read_attention(config, traits);
  if (experts > 0) {
    read_experts(config, traits);
    read_shared_expert(config);
  } else {
    pass_over(table, {"mlp_only_layers", "decoder_sparse_step", "num_experts_per_tok",
                      "moe_intermediate_size", "shared_expert_intermediate_size"});
  }
  read_dense_width(config);
  check_mlp(config, traits);
  pass_over(table, {"mtp_use_dedicated_embeddings", "use_sliding_window", "sliding_window",
                    "max_window_layers"});
  LayerKind linear{.name = "linear", .has_attention = false};
  linear.state = read_delta_net(table);
  LayerKind full{.name = "full", .attention = model.attention(0)};
  full.attention.output_gate = true;
  table.read("attn_output_gate", full.attention.output_gate);
  linear.intermediate = full.intermediate = model.intermediate;
  const auto types = read_hybrid_types(config);
  if (!table.diagnostics().empty()) return;
  set_kinds(model, {linear, full}, kinds_of(types, {"linear_attention", "full_attention"}));
  read_vision_tower(config);
}

void read_mimo(ConfigReader& config) {
  read_decoder(config, {.qkv_bias = true, .output_bias = false, .window = WindowUse::optional});
}

namespace {

/// The heads of one kind of layer, whose keys begin with `prefix` ("", "swa_").
AttentionShape read_heads(TableReader& table, const std::string& prefix) {
  AttentionShape heads;
  require_count(table, prefix + "num_attention_heads", heads.query_heads, heads_limit);
  require_count(table, prefix + "num_key_value_heads", heads.kv_heads, heads_limit);
  require_count(table, prefix + "head_dim", heads.head_dim, head_dim_limit);
  heads.value_dim = heads.head_dim;
  read_within(table, prefix + "v_head_dim", heads.value_dim, 1, head_dim_limit);
  table.expect(prefix + "num_key_value_heads",
               heads.kv_heads < 1 || heads.query_heads % heads.kv_heads == 0,
               fmt::format("{} does not divide {} query heads", heads.kv_heads, heads.query_heads));
  return heads;
}

}  // namespace

void read_mimo_v2(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.experts_key = "n_routed_experts",
                                .expert_width_key = "moe_intermediate_size",
                                .dense_layers = DenseLayers::leading,
                                .router_bias = true};
  read_sizes(config, traits);
  read_attention(config, traits);
  read_experts(config, traits);
  read_dense_width(config);
  check_mlp(config, traits);
  LayerKind full{.name = "full", .attention = read_heads(table, "")};
  LayerKind sliding{.name = "sliding", .attention = read_heads(table, "swa_")};
  table.read("add_full_attention_sink_bias", full.attention.sinks);
  table.read("add_swa_attention_sink_bias", sliding.attention.sinks);
  require_count(table, "sliding_window", sliding.attention.window, context_limit);
  table.find("attention_chunk_size");  // the window again
  full.intermediate = sliding.intermediate = model.intermediate;
  std::vector<int> is_sliding;
  table.require("hybrid_layer_pattern", is_sliding);
  table.expect(
      "hybrid_layer_pattern",
      is_sliding.size() == static_cast<std::size_t>(model.layers) &&
          std::ranges::all_of(is_sliding, [](int is) { return is == 0 || is == 1; }),
      fmt::format("must be a 0 (full) or 1 (sliding) for each of the {} layers", model.layers));
  if (table.diagnostics().empty()) set_kinds(model, {full, sliding}, std::move(is_sliding));
}

}  // namespace foretoken
