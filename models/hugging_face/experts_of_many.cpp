// Models of grouped-query attention and many experts: GLM 4.5, gpt-oss, MiniMax M2, Step 3.5,
// ERNIE 4.5. Sources: transformers' configuration and modeling files, or those published with the
// models.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
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
  if (model.moe) {
    table.read("use_routing_bias", model.moe->router_bias);
    read_within(table, "shared_intermediate_size", model.moe->shared_intermediate, 0, width_limit);
  }
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

void read_step3p5(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  read_decoder(config, {.qk_norm = true,
                        .window = WindowUse::by_pattern,
                        .window_period = 4,
                        .experts_key = "num_experts",
                        .expert_width_key = "moe_intermediate_size",
                        .dense_layers = DenseLayers::leading});
  if (!model.moe) return;
  table.read("use_moe_router_bias", model.moe->router_bias);
  read_within(table, "share_expert_dim", model.moe->shared_intermediate, 0, width_limit);
}

void read_ernie_moe(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.experts_key = "moe_num_experts",
                                .topk_key = "moe_k",
                                .expert_width_key = "moe_intermediate_size",
                                .router_bias = true};
  read_sizes(config, traits);
  read_attention(config, traits);
  bool bias = false;
  table.read("use_bias", bias);
  table.expect("use_bias", !bias, "products with a bias cannot be expanded");
  read_experts(config, traits);
  if (model.moe) {
    std::int64_t shared = 0;
    read_within(table, "moe_num_shared_experts", shared, 0, experts_limit);
    model.moe->shared_intermediate = shared * model.moe->intermediate;
    read_within(table, "moe_layer_start_index", model.moe->dense_layers, 0, layers_limit);
    read_within(table, "moe_layer_interval", model.moe->step, 1, layers_limit);
    int last = model.layers - 1;
    read_within(table, "moe_layer_end_index", last, 0, layers_limit);
    table.expect("moe_layer_end_index", last == model.layers - 1,
                 "leaves dense layers behind the last with experts");
    if (model.moe->dense_layers >= model.layers) model.moe.reset();
  }
  read_dense_width(config);
  check_mlp(config, traits);
}

}  // namespace foretoken
