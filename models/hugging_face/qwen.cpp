// Qwen, and Xiaomi's MiMo, which is built on it. Sources: transformers' configuration and modeling
// files of qwen2, qwen2_moe, qwen3, qwen3_moe, qwen3_vl; MiMo's as published with the models.
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
               fmt::format("{} does not divide {} query heads", heads.kv_heads,
                           heads.query_heads));
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
  table.expect("hybrid_layer_pattern",
               is_sliding.size() == static_cast<std::size_t>(model.layers) &&
                   std::ranges::all_of(is_sliding, [](int is) { return is == 0 || is == 1; }),
               fmt::format("must be a 0 (full) or 1 (sliding) for each of the {} layers",
                           model.layers));
  if (table.diagnostics().empty()) set_kinds(model, {full, sliding}, std::move(is_sliding));
}

}  // namespace foretoken
