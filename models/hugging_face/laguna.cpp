// Arcee's AFMoE (Trinity) and Poolside's Laguna, which is built on it: sliding layers between full
// ones, gates behind attention, experts behind the first dense layers. Sources:
// huggingface/transformers, models/afmoe and models/laguna, and the configurations of Laguna XS.2
// and S 2.1.
#include <algorithm>
#include <map>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

constexpr DecoderTraits laguna = {.qk_norm = true,
                                  .experts_key = "num_experts",
                                  .expert_width_key = "moe_intermediate_size",
                                  .dense_layers = DenseLayers::listed,
                                  .router_bias = true};

/// Softplus of a product as wide as there are heads; a gate of every value would be another
/// product.
void check_gates(TableReader& table) {
  std::string gating = "per-head";
  if (const Value* value = table.find("gating");
      value != nullptr && std::holds_alternative<std::string>(value->data)) {
    table.read("gating", gating);
  }
  std::vector<std::string> types;
  table.read("gating_types", types);
  types.push_back(gating);
  for (const std::string& type : types) {
    table.expect("gating_types", type == "per-head" || type == "per_head",
                 fmt::format("'{}' is not understood; per_head is", type));
  }
}

/// Query heads of each layer.
std::vector<int> read_heads_of_layers(ConfigReader& config) {
  std::vector<int> heads;
  const auto layers = static_cast<std::size_t>(config.model.layers);
  if (!config.table.read("num_attention_heads_per_layer", heads)) {
    return std::vector<int>(layers, config.model.query_heads);
  }
  config.table.expect("num_attention_heads_per_layer", heads.size() == layers,
                      fmt::format("lists {} layers of {}", heads.size(), layers));
  for (const int own : heads) {
    config.table.expect(
        "num_attention_heads_per_layer",
        own >= 1 && own <= heads_limit && own % config.model.kv_heads == 0,
        fmt::format("{} heads are not a multiple of the {} of keys", own, config.model.kv_heads));
  }
  return heads;
}

constexpr std::string_view full_type = "full_attention", sliding_type = "sliding_attention";

/// A kind for each type of layer and number of query heads (one a layer each).
void set_kinds_by_type(Transformer& model, const std::vector<std::string>& types,
                       const std::vector<int>& heads, std::int64_t window, bool output_gate) {
  std::vector<LayerKind> kinds;
  std::vector<int> pattern;
  std::map<std::pair<std::string, int>, int> known;
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    const auto [found, is_new] =
        known.try_emplace({types[layer], heads[layer]}, static_cast<int>(kinds.size()));
    pattern.push_back(found->second);
    if (!is_new) continue;
    const bool slides = types[layer] == sliding_type;
    LayerKind kind{.name = fmt::format("{}_{}", slides ? "sliding" : "full", heads[layer]),
                   .attention = model.attention(0)};
    kind.attention.query_heads = heads[layer];
    kind.attention.output_gate = output_gate;
    if (slides) kind.attention.window = window;
    kind.intermediate = model.intermediate;
    kinds.push_back(std::move(kind));
  }
  set_kinds(model, std::move(kinds), std::move(pattern));
}

void read_laguna_kinds(ConfigReader& config) {
  auto types = read_layer_types(config, {full_type, sliding_type});
  types.resize(static_cast<std::size_t>(config.model.layers), std::string(full_type));
  std::int64_t window = 512;
  read_within(config.table, "sliding_window", window, 1, context_limit);
  const std::vector<int> heads = read_heads_of_layers(config);
  if (!config.table.diagnostics().empty()) return;
  set_kinds_by_type(config.model, types, heads, window, false);
}

/// Where layer_types does not say, the last of so many layers is full.
void read_afmoe_kinds(ConfigReader& config) {
  TableReader& table = config.table;
  auto types = read_layer_types(config, {full_type, sliding_type});
  std::int64_t window = 1024;
  int period = 4;
  read_within(table, "sliding_window", window, 1, context_limit);
  read_within(table, "global_attn_every_n_layers", period, 1, layers_limit);
  if (!table.diagnostics().empty()) return;
  const int layers = config.model.layers;
  for (int i = static_cast<int>(types.size()); i < layers; ++i) {
    types.emplace_back((i + 1) % period == 0 ? full_type : sliding_type);
  }
  const std::vector<int> heads(types.size(), config.model.query_heads);
  set_kinds_by_type(config.model, types, heads, window, true);
}

}  // namespace

void read_laguna(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  read_sizes(config, laguna);
  read_attention(config, laguna);
  read_experts(config, laguna);
  if (model.moe) {
    // The first alone, where nothing lists them.
    const bool is_listed =
        table.find("mlp_layer_types") != nullptr || table.find("mlp_only_layers") != nullptr;
    if (!is_listed) model.moe->dense_layers = 1;
    read_within(table, "shared_expert_intermediate_size", model.moe->shared_intermediate, 0,
                width_limit);
  }
  read_dense_width(config);
  check_mlp(config, laguna);
  check_gates(table);
  leave_out_head_gates(model);
  pass_over(table, {"moe_apply_router_weight_on_input", "moe_router_logit_softcapping",
                    "moe_routed_scaling_factor"});
  if (table.diagnostics().empty()) read_laguna_kinds(config);
}

void read_afmoe(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  constexpr DecoderTraits afmoe = {.qk_norm = true,
                                   .post_norms = true,
                                   .experts_key = "num_experts",
                                   .expert_width_key = "moe_intermediate_size",
                                   .router_bias = true};
  read_sizes(config, afmoe);
  read_attention(config, afmoe);
  read_experts(config, afmoe);
  if (model.moe) {
    int dense = 1;
    std::int64_t shared = 2;
    read_within(table, "num_dense_layers", dense, 0, layers_limit);
    read_within(table, "num_shared_experts", shared, 0, experts_limit);
    model.moe->dense_layers = std::min(dense, model.layers);
    model.moe->shared_intermediate = shared * model.moe->intermediate;
  }
  read_dense_width(config);
  check_mlp(config, afmoe);
  pass_over(table, {"mup_enabled", "route_norm", "route_scale", "score_func", "num_limited_groups",
                    "num_expert_groups"});
  if (table.diagnostics().empty()) read_afmoe_kinds(config);
}

}  // namespace foretoken
