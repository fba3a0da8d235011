// Models of grouped-query attention and many experts: GLM 4.5 and Solar Open, dots.llm1, the first
// DeepSeek MoE, Ling and Ring, Phi 3.5, gpt-oss, MiniMax M2, ERNIE 4.5, Granite, Hunyuan. Sources:
// transformers' configuration and modeling files, or those published with the models.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {

void read_glm4_moe(ConfigReader& config) {
  read_decoder(config, {.output_bias = false,
                        .experts_key = "n_routed_experts",
                        .expert_width_key = "moe_intermediate_size",
                        .dense_layers = DenseLayers::leading,
                        .router_bias = true});
}

void read_dots1(ConfigReader& config) {
  read_decoder(config, {.qk_norm = true,
                        .experts_key = "n_routed_experts",
                        .expert_width_key = "moe_intermediate_size",
                        .dense_layers = DenseLayers::leading,
                        .router_bias = true});
}

void read_deepseek_moe(ConfigReader& config) {
  read_decoder(config, {.experts_key = "n_routed_experts",
                        .expert_width_key = "moe_intermediate_size",
                        .dense_layers = DenseLayers::leading});
}

/// Biases of its layer norms and of the LM head, a number for each of their outputs, are left out.
void read_phimoe(ConfigReader& config) {
  read_decoder(config,
               {.experts_key = "num_local_experts", .expert_width_key = "intermediate_size"});
  config.table.find("lm_head_bias");
}

void read_bailing_moe(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  read_decoder(config, {.experts_key = "num_experts",
                        .expert_width_key = "moe_intermediate_size",
                        .shared_experts_key = "num_shared_experts",
                        .dense_layers = DenseLayers::leading});
  table.read("use_qkv_bias", model.qkv_bias);
  refuse_bias(table, "use_bias");
  // How the LM head's weights are scaled when they are loaded, and how its own code keeps Q, K, V.
  pass_over(table, {"norm_head", "using_split_qkv_in_self_attention"});
  std::int64_t shared_width = 0;
  read_within(table, "moe_shared_expert_intermediate_size", shared_width, 1, width_limit);
  if (!model.moe) return;
  table.read("moe_router_enable_expert_bias", model.moe->router_bias);
  if (shared_width == 0 || model.moe->intermediate == 0) return;
  model.moe->shared_intermediate =
      model.moe->shared_intermediate / model.moe->intermediate * shared_width;
}

void read_glm4v_moe(ConfigReader& config) {
  read_glm4_moe(config);
  read_vision_tower(config);
}

void read_gpt_oss(ConfigReader& config) {
  config.table.find("experts_per_token");  // num_experts_per_tok again
  read_decoder(config, {.qkv_bias = true,
                        .attention_sinks = true,
                        .window = WindowUse::by_pattern,
                        .window_period = 2,
                        .experts_key = "num_local_experts",
                        .expert_width_key = "intermediate_size",
                        .router_bias = true,
                        .expert_bias = true});
}

void read_minimax_m2(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  read_decoder(config,
               {.experts_key = "num_local_experts", .expert_width_key = "intermediate_size"});
  std::string norm = "per_layer";
  table.read("qk_norm_type", norm);
  table.expect("qk_norm_type", norm == "per_layer" || norm == "per_head",
               fmt::format("'{}' cannot be expanded; per_layer and per_head can", norm));
  model.qk_norm_full = model.qk_norm && norm == "per_layer";
  model.qk_norm = model.qk_norm && !model.qk_norm_full;
  model.qk_norm_sums = model.qk_norm_full;  // of vLLM and SGLang: MiniMax*RMSNormTP
  if (model.moe) {
    table.read("use_routing_bias", model.moe->router_bias);
    read_within(table, "shared_intermediate_size", model.moe->shared_intermediate, 0, width_limit);
  }
  pass_over(table, {"mlp_intermediate_size", "shared_moe_mode"});  // of its predecessor's layers
  std::vector<int> types;
  if (table.read("attn_type_list", types)) {
    table.expect("attn_type_list", std::ranges::all_of(types, [](int type) { return type == 1; }),
                 "lists layers of linear attention, which cannot be expanded");
  }
  bool has_mtp = false;
  table.read("use_mtp", has_mtp);
  int modules = 0;
  read_within(table, "num_mtp_modules", modules, 0, layers_limit);
  table.find("mtp_transformer_layers");
  if (has_mtp) model.mtp_layers = modules;
}

void read_ernie_moe(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.tied_embeddings = true,
                                .experts_key = "moe_num_experts",
                                .topk_key = "moe_k",
                                .expert_width_key = "moe_intermediate_size",
                                .router_bias = true};
  read_sizes(config, traits);
  read_attention(config, traits);
  // How training routed, and the biases that balance it, which router_bias counts.
  pass_over(table, {"moe_capacity", "moe_gate", "moe_use_aux_free", "moe_use_hard_gate",
                    "moe_norm_min", "moe_statics"});
  refuse_bias(table, "use_bias");
  read_experts(config, traits);
  if (model.moe) {
    std::int64_t shared = 0;
    read_within(table, "moe_num_shared_experts", shared, 0, experts_limit);
    model.moe->shared_intermediate = shared * model.moe->intermediate;
    read_within(table, "moe_layer_start_index", model.moe->dense_layers, 0, layers_limit);
    read_within(table, "moe_layer_interval", model.moe->step, 1, layers_limit);
    int last = -1;  // of all
    read_within(table, "moe_layer_end_index", last, -1, layers_limit);
    table.expect("moe_layer_end_index", last == -1 || last == model.layers - 1,
                 "leaves dense layers after the last with experts");
    if (model.moe->dense_layers >= model.layers) model.moe.reset();
  }
  read_dense_width(config);
  check_mlp(config, traits);
}

void read_granite_moe(ConfigReader& config) {
  read_decoder(config,
               {.experts_key = "num_local_experts", .expert_width_key = "intermediate_size"});
  if (!config.model.moe) return;
  read_within(config.table, "shared_intermediate_size", config.model.moe->shared_intermediate, 0,
              width_limit);
}

namespace {

/// A number, or the same number for each layer; 0 where there is none.
std::int64_t read_for_all_layers(TableReader& table, std::string_view key) {
  std::int64_t count = 0;
  std::vector<int> list;
  const Value* value = table.find(key);
  if (value == nullptr || !value->is_array()) {
    read_within(table, key, count, 0, width_limit);
    return count;
  }
  if (!table.read(key, list) || list.empty()) return count;
  table.expect(key, std::ranges::all_of(list, [&](int one) { return one == list.front(); }),
               "differs between layers, which cannot be expanded");
  return std::max(list.front(), 0);
}

}  // namespace

void read_hunyuan_moe(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.qk_norm = true};
  read_sizes(config, traits);
  read_attention(config, traits);
  bool shares_keys = false;
  table.read("use_cla", shares_keys);
  table.expect("use_cla", !shares_keys, "keys that layers share cannot be expanded here");
  pass_over(table, {"cla_share_factor", "moe_layer_num_skipped", "attention_head_dim",
                    "moe_drop_tokens", "dense_list", "org_vocab_size", "norm_type",
                    "use_mixed_mlp_moe", "moe_random_routing_dropped_token"});
  MoeConfig moe;
  require_count(table, "num_experts", moe.experts, experts_limit);
  moe.topk = static_cast<int>(read_for_all_layers(table, "moe_topk"));
  table.expect("moe_topk", moe.topk >= 1 && moe.topk <= moe.experts,
               fmt::format("must be from 1 to the {} experts", moe.experts));
  moe.intermediate = read_for_all_layers(table, "moe_intermediate_size");
  if (moe.intermediate == 0) {
    require_count(table, "intermediate_size", moe.intermediate, width_limit);
  } else {
    table.find("intermediate_size");
  }
  moe.shared_intermediate = read_for_all_layers(table, "num_shared_expert") * moe.intermediate;
  if (table.diagnostics().empty()) model.moe = moe;
  check_mlp(config, traits);
}

}  // namespace foretoken
