// Experts as configs describe them: how many, how wide, which layers have them.
#include <algorithm>
#include <optional>

#include "models/hugging_face/decoder.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

/// Leading "dense" layers before the "sparse" ones of mlp_layer_types, which transformers 5 writes
/// in place of each family's own rule; nullopt: it is not there.
std::optional<int> read_mlp_layer_types(TableReader& table) {
  std::vector<std::string> types;
  if (!table.read("mlp_layer_types", types)) return std::nullopt;
  const auto leading = std::ranges::find(types, "sparse") - types.begin();
  table.expect("mlp_layer_types",
               std::find(types.begin() + leading, types.end(), "dense") == types.end(),
               "makes layers between MoE layers dense; only the first layers can be dense");
  return static_cast<int>(leading);
}

/// Leading dense layers by DeepSeek's rule; experts in every moe_layer_freq-th layer are a mistake.
/// MiMo lists a 0 or 1 for each layer in the same key.
int read_leading_dense_layers(TableReader& table) {
  int leading = 0;
  const bool is_told = read_within(table, "first_k_dense_replace", leading, 0, layers_limit);
  const auto by_type = read_mlp_layer_types(table);
  if (by_type && !is_told) leading = *by_type;
  if (const Value* freq = table.find("moe_layer_freq"); freq != nullptr && freq->is_array()) {
    std::vector<int> has_experts;
    if (!table.read("moe_layer_freq", has_experts)) return leading;
    leading = static_cast<int>(std::ranges::find(has_experts, 1) - has_experts.begin());
    table.expect(
        "moe_layer_freq",
        std::find(has_experts.begin() + leading, has_experts.end(), 0) == has_experts.end(),
        "makes layers between MoE layers dense; only the first layers can be dense");
    return leading;
  }
  int step = 1;
  if (read_within(table, "moe_layer_freq", step, 1, layers_limit)) {
    table.expect("moe_layer_freq", step == 1,
                 "makes layers between MoE layers dense; only the first layers can be dense");
  }
  return leading;
}

/// Layers without experts by Qwen's rule: layer i has some if it is not in mlp_only_layers and
/// decoder_sparse_step divides i + 1. Layers listed between MoE layers are a mistake.
void read_listed_dense_layers(TableReader& table, const Transformer& model, MoeConfig& moe) {
  std::vector<int> dense_only;
  const bool is_told = table.read("mlp_only_layers", dense_only);
  read_within(table, "decoder_sparse_step", moe.step, 1, layers_limit);
  if (const auto by_type = read_mlp_layer_types(table); by_type && !is_told && moe.step == 1) {
    moe.dense_layers = *by_type;
    return;
  }
  if (moe.step > 1) {
    table.expect("mlp_only_layers", dense_only.empty(),
                 "cannot be combined with a decoder_sparse_step above 1");
    return;
  }
  const auto is_dense = [&](int layer) {
    return std::ranges::find(dense_only, layer) != dense_only.end();
  };
  while (moe.dense_layers < model.layers && is_dense(moe.dense_layers)) ++moe.dense_layers;
  for (int layer = moe.dense_layers; layer < model.layers; ++layer) {
    if (!is_dense(layer)) continue;
    table.fail("mlp_only_layers",
               fmt::format("makes layer {} dense after layer {} has experts; only the first layers "
                           "can be dense",
                           layer, moe.dense_layers));
    break;
  }
}

/// Groups that the router limits a token to: DeepSeek's n_group and topk_group, Kimi's
/// num_expert_group. "greedy" (DeepSeek-V2-Lite) and use_grouped_topk = false do not look at them.
void read_router_groups(TableReader& table, MoeConfig& moe) {
  std::string method;
  bool are_used = true;
  table.read("topk_method", method);
  table.read("use_grouped_topk", are_used);
  const bool is_deepseek = table.find("n_group") != nullptr;
  const bool is_kimi = table.find("num_expert_group") != nullptr;
  read_expert_groups(table, is_kimi && !is_deepseek ? "num_expert_group" : "n_group", "topk_group",
                     moe);
  if (method == "greedy" || !are_used) moe.groups = {};
}

/// num_experts and num_local_experts are one (transformers' attribute maps): files have either, or
/// both and equal.
std::string_view experts_key_of(TableReader& table, std::string_view key) {
  const bool is_one_of_two = key == "num_experts" || key == "num_local_experts";
  if (!is_one_of_two) return key;
  const std::string_view other = key == "num_experts" ? "num_local_experts" : "num_experts";
  std::int64_t own = 0, others = 0;
  if (!read_within(table, other, others, 1, experts_limit)) return key;
  if (table.find(key) == nullptr) return other;
  if (read_within(table, key, own, 1, experts_limit))
    table.expect(other, own == others, fmt::format("differs from {} = {}", key, own));
  return key;
}

}  // namespace

void read_experts(ConfigReader& config, const DecoderTraits& traits) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  MoeConfig moe;
  const std::string_view experts_key = experts_key_of(table, traits.experts_key);
  if (require_count(table, experts_key, moe.experts, experts_limit) &&
      require_count(table, traits.topk_key, moe.topk, experts_limit)) {
    table.expect(traits.topk_key, moe.topk <= moe.experts,
                 fmt::format("{} exceeds {} = {}", moe.topk, experts_key, moe.experts));
  }
  read_router_groups(table, moe);
  require_count(table, traits.expert_width_key, moe.intermediate, width_limit);
  if (traits.dense_layers == DenseLayers::none) {
    table.expect("mlp_layer_types", read_mlp_layer_types(table).value_or(0) == 0,
                 "makes the first layers dense, which this architecture does not allow");
  }
  if (traits.dense_layers == DenseLayers::listed) read_listed_dense_layers(table, model, moe);
  if (traits.dense_layers == DenseLayers::leading) {
    moe.dense_layers = read_leading_dense_layers(table);
    std::int64_t shared = 0;
    read_within(table, traits.shared_experts_key, shared, 0, experts_limit);
    moe.shared_intermediate = shared * moe.intermediate;
  }
  moe.router_bias = traits.router_bias;
  moe.expert_bias = traits.expert_bias;
  if (moe.dense_layers < model.layers) model.moe = moe;
}

}  // namespace foretoken
