// LFM2: short convolutions and a few layers of attention. Source: transformers' configuration and
// modeling files of lfm2 and lfm2_moe.
#include <algorithm>
#include <cmath>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

/// The width that LFM2 makes of its nominal one: two thirds, times a factor, up to the next
/// multiple.
void adjust_width(TableReader& table, Transformer& model) {
  bool adjusts = true;
  double factor = 1;
  std::int64_t multiple = 256;
  table.read("block_auto_adjust_ff_dim", adjusts);
  table.read("block_ffn_dim_multiplier", factor);
  read_within(table, "block_multiple_of", multiple, 1, width_limit);
  constexpr double factor_max = 100;
  table.expect("block_ffn_dim_multiplier", factor > 0 && factor <= factor_max,
               "must be above 0 and at most 100");
  if (!adjusts || !table.diagnostics().empty()) return;
  const auto narrowed = static_cast<double>(2 * model.intermediate / 3);
  const auto width = static_cast<std::int64_t>(std::floor(factor * narrowed));
  model.intermediate = (width + multiple - 1) / multiple * multiple;
}

std::vector<int> read_lfm2_layers(ConfigReader& config) {
  const auto types = read_layer_types(config, {"conv", "full_attention"});
  std::vector<int> full;
  config.table.read("full_attn_idxs", full);
  if (!types.empty()) return kinds_of(types, {"conv", "full_attention"});
  std::vector<int> pattern(static_cast<std::size_t>(config.model.layers), 0);
  for (const int layer : full) {
    if (layer >= 0 && layer < config.model.layers) pattern[static_cast<std::size_t>(layer)] = 1;
  }
  return pattern;
}

}  // namespace

void read_lfm2(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.qk_norm = true,
                                .tied_embeddings = true,
                                .experts_key = "num_experts",
                                .expert_width_key = "moe_intermediate_size",
                                .router_bias = true};
  read_sizes(config, traits);
  table.read("tie_embedding", model.tied_embeddings);
  read_attention(config, traits);
  check_mlp(config, traits);
  const bool has_experts = table.find("num_experts") != nullptr;
  if (has_experts) {
    read_experts(config, traits);
    if (model.moe) {
      read_within(table, "num_dense_layers", model.moe->dense_layers, 0, layers_limit);
      table.read("use_expert_bias", model.moe->router_bias);
    }
    read_dense_width(config);
    pass_over(table, {"block_auto_adjust_ff_dim", "block_ffn_dim_multiplier", "block_multiple_of"});
  } else {
    const bool has_old_key = table.find("block_ff_dim") != nullptr;
    require_count(table, has_old_key ? "block_ff_dim" : "intermediate_size", model.intermediate,
                  width_limit);
    adjust_width(table, model);
  }
  pass_over(table,
            {"intermediate_size", "block_ff_dim", "block_dim", "block_mlp_init_scale",
             "block_norm_eps", "block_out_init_scale", "block_use_swiglu", "block_use_xavier_init",
             "conv_dim", "conv_dim_out", "conv_use_xavier_init", "num_heads"});
  StateShape state{.kind = StateKind::convolution, .taps = 3};
  state.value_heads = static_cast<int>(model.hidden);
  read_within(table, "conv_L_cache", state.taps, 1, head_dim_limit);
  table.read("conv_bias", state.conv_bias);
  LayerKind conv{.name = "conv", .has_attention = false};
  conv.state = state;
  LayerKind full{.name = "full", .attention = model.attention(0)};
  conv.intermediate = full.intermediate = model.intermediate;
  std::vector<int> pattern = read_lfm2_layers(config);
  if (table.diagnostics().empty()) set_kinds(model, {conv, full}, std::move(pattern));
}

}  // namespace foretoken
