// Kimi Linear and K3: most layers are Kimi delta attention, the others latent attention. Sources:
// the configuration and modeling files published with Kimi-Linear-48B-A3B; K3's own fields as its
// config.json names them.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

/// "linear_attn_config": the recurrence, and which layers (from 1) have it.
void read_kimi_kinds(ConfigReader& config, const Value& linear_config) {
  Transformer& model = config.model;
  TableReader table(linear_config, config.table.diagnostics(), "linear_attn_config");
  LayerKind linear{.name = "linear", .has_attention = false};
  LayerKind full{.name = "full", .attention = model.attention(0)};
  linear.intermediate = full.intermediate = model.intermediate;
  StateShape state{.kind = StateKind::kimi_delta};
  require_count(table, "num_heads", state.value_heads, heads_limit);
  require_count(table, "head_dim", state.value_dim, head_dim_limit);
  state.key_heads = state.value_heads;
  state.key_dim = state.value_dim;
  read_within(table, "short_conv_kernel_size", state.taps, 1, head_dim_limit);
  bool is_full_rank = false;
  table.read("use_full_rank_gate", is_full_rank);
  state.gate_rank = is_full_rank ? 0 : state.key_dim;
  linear.state = state;
  std::vector<int> recurrent;
  table.require("kda_layers", recurrent);
  std::vector<int> pattern(static_cast<std::size_t>(model.layers), 1);
  for (const int layer : recurrent) {
    if (layer >= 1 && layer <= model.layers) {
      pattern[static_cast<std::size_t>(layer - 1)] = 0;
    } else {
      table.fail("kda_layers", fmt::format("names layer {} of {}", layer, model.layers));
    }
  }
  if (config.table.diagnostics().empty()) set_kinds(model, {linear, full}, std::move(pattern));
}

}  // namespace

void read_kimi_linear(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.is_latent = true,
                                .experts_key = "num_experts",
                                .topk_key = "num_experts_per_token",
                                .expert_width_key = "moe_intermediate_size",
                                .shared_experts_key = "num_shared_experts",
                                .dense_layers = DenseLayers::leading,
                                .router_bias = true};
  read_sizes(config, traits);
  read_attention(config, traits);
  read_experts(config, traits);
  read_dense_width(config);
  check_mlp(config, traits);
  table.read("mla_use_output_gate", model.mla->output_gate);
  if (model.moe) {
    read_within(table, "routed_expert_hidden_size", model.moe->latent, 0, width_limit);
  }
  pass_over(table, {"mla_use_nope", "latent_moe_use_norm", "activation_situ_linear_beta"});
  int residual_block = 0;
  if (read_within(table, "attn_res_block_size", residual_block, 0, layers_limit) &&
      residual_block > 0) {
    model.left_out.push_back(fmt::format(
        "residuals that attend to the outputs of every {} layers: their few weights and their work",
        residual_block));
  }
  const Value* linear = table.find_table("linear_attn_config");
  if (linear == nullptr) {
    table.fail("linear_attn_config", "is missing: which layers are recurrent");
  } else if (table.diagnostics().empty()) {
    read_kimi_kinds(config, *linear);
  }
  read_vision_tower(config);
}

}  // namespace foretoken
