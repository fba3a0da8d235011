// StepFun's Step 3.5 and 3.7: sliding layers with more heads than full ones, and experts behind the
// first few layers. Source: the configuration and modeling files published with Step-3.5-Flash;
// copies in the words that most models use are read as well.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

/// "3,4,5,…": the layers with experts. The first of them; 0 where there is no list.
int read_first_expert_layer(TableReader& table, int layers) {
  std::string text;
  if (!table.read("moe_layers_enum", text) || text.empty()) return 0;
  int first = 0, next = 0, value = 0;
  bool is_first = true, is_complete = true;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char letter = at < text.size() ? text[at] : ',';
    if (letter >= '0' && letter <= '9' && value <= layers_limit) {
      value = 10 * value + (letter - '0');
    } else if (letter == ',') {
      if (is_first) first = next = value;
      is_first = false;
      is_complete = is_complete && value == next++;
      value = 0;
    }
  }
  table.expect(
      "moe_layers_enum", is_complete && next == layers,
      "leaves out layers after the first with experts; only the first layers can be dense");
  return first;
}

AttentionShape read_groups(TableReader& table, AttentionShape heads) {
  read_within(table, "num_attention_heads", heads.query_heads, 1, heads_limit);
  read_within(table, "num_attention_groups", heads.kv_heads, 1, heads_limit);
  read_within(table, "head_dim", heads.head_dim, 1, head_dim_limit);
  heads.value_dim = heads.head_dim;
  table.expect("num_attention_groups", heads.query_heads % heads.kv_heads == 0,
               fmt::format("{} does not divide {} query heads", heads.kv_heads, heads.query_heads));
  return heads;
}

/// layer_types may list the layers of prediction modules behind the model's own.
std::vector<int> read_step_types(ConfigReader& config) {
  std::vector<std::string> types;
  std::vector<int> pattern;
  if (!config.table.read("layer_types", types)) return pattern;
  const auto layers = static_cast<std::size_t>(config.model.layers);
  config.table.expect("layer_types", types.size() >= layers,
                      fmt::format("lists {} layers of {}", types.size(), layers));
  types.resize(layers);
  for (const std::string& type : types) {
    const bool is_full = type == "full_attention";
    config.table.expect("layer_types", is_full || type == "sliding_attention",
                        fmt::format("'{}' cannot be expanded; full_attention and "
                                    "sliding_attention can",
                                    type));
    pattern.push_back(is_full ? 0 : 1);
  }
  return pattern;
}

void read_step_experts(ConfigReader& config) {
  TableReader& table = config.table;
  MoeConfig moe;
  require_count(table, "moe_num_experts", moe.experts, experts_limit);
  require_count(table, "moe_top_k", moe.topk, experts_limit);
  table.expect("moe_top_k", moe.topk <= moe.experts,
               fmt::format("{} exceeds the {} experts", moe.topk, moe.experts));
  require_count(table, "moe_intermediate_size", moe.intermediate, width_limit);
  moe.dense_layers = read_first_expert_layer(table, config.model.layers);
  if (moe.dense_layers < config.model.layers) config.model.moe = moe;
}

/// The file as StepFun publishes it.
void read_own_words(ConfigReader& config, const DecoderTraits& traits) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  read_sizes(config, traits);
  read_attention(config, traits);
  read_step_experts(config);
  read_dense_width(config);
  check_mlp(config, traits);
  pass_over(table, {"use_moe", "moe_every_n_layer", "moe_layer_offset", "att_impl_type",
                    "share_expert_dims", "moe_router_activation", "need_fp32_gate",
                    "norm_expert_weight", "swiglu_limits_shared"});
  bool has_gate = false;
  table.read("use_head_wise_attn_gate", has_gate);
  if (has_gate) leave_out_head_gates(model);
  LayerKind full{.name = "full", .attention = read_groups(table, model.attention(0))};
  LayerKind sliding{.name = "sliding", .attention = full.attention};
  if (const Value* other = table.find_table("attention_other_setting")) {
    TableReader own(*other, table.diagnostics(), "attention_other_setting");
    sliding.attention = read_groups(own, full.attention);
  }
  require_count(table, "sliding_window", sliding.attention.window, context_limit);
  model.kv_heads = full.attention.kv_heads;
  full.intermediate = sliding.intermediate = model.intermediate;
  std::vector<int> pattern = read_step_types(config);
  if (pattern.empty()) table.fail("layer_types", "is missing");
  if (table.diagnostics().empty()) set_kinds(model, {full, sliding}, std::move(pattern));
}

}  // namespace

void read_step3p5(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  DecoderTraits traits = {.qk_norm = true};
  if (table.find("moe_num_experts") != nullptr) {
    read_own_words(config, traits);
  } else {
    traits.window = WindowUse::by_pattern;
    traits.window_period = 4;
    traits.experts_key = "num_experts";
    traits.expert_width_key = "moe_intermediate_size";
    traits.dense_layers = DenseLayers::leading;
    read_decoder(config, traits);
  }
  if (model.moe) {
    table.read("use_moe_router_bias", model.moe->router_bias);
    read_within(table, "share_expert_dim", model.moe->shared_intermediate, 0, width_limit);
  }
  read_vision_tower(config);
}

}  // namespace foretoken
