// DeepSeek-V4: compressed sparse attention, hyper-connections, experts in 4 bit. Source: the
// configuration and model code published with DeepSeek-V4-Flash and Pro.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

/// Keys are shared by so many tokens where an index picks among them; where more share one, all are
/// read.
constexpr int indexed_ratio = 4;

LayerKind read_v4_layer(int ratio, const AttentionShape& heads, const KeyIndex& index) {
  LayerKind kind{.name = ratio == 0 ? "window" : fmt::format("pooled_{}", ratio),
                 .attention = heads};
  kind.attention.compression = ratio;
  if (ratio == indexed_ratio) kind.attention.index = index;
  return kind;
}

/// One kind for each ratio in compress_ratios, which lists the prediction modules' layers as well.
void read_v4_kinds(ConfigReader& config, const AttentionShape& heads, const KeyIndex& index) {
  std::vector<int> ratios;
  config.table.require("compress_ratios", ratios);
  const auto layers = static_cast<std::size_t>(config.model.layers);
  if (ratios.size() < layers) {
    config.table.fail("compress_ratios",
                      fmt::format("lists {} layers of {}", ratios.size(), layers));
    return;
  }
  ratios.resize(layers);
  std::vector<LayerKind> kinds;
  std::vector<int> pattern;
  for (const int ratio : ratios) {
    config.table.expect("compress_ratios", ratio >= 0 && ratio <= context_limit,
                        "must be tokens from 0 (no compressed keys) up");
    const LayerKind kind = read_v4_layer(ratio, heads, index);
    const auto found = std::ranges::find(kinds, kind);
    pattern.push_back(static_cast<int>(found - kinds.begin()));
    if (found == kinds.end()) kinds.push_back(kind);
  }
  if (config.table.diagnostics().empty()) {
    set_kinds(config.model, std::move(kinds), std::move(pattern));
  }
}

}  // namespace

void read_deepseek_v4(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.experts_key = "n_routed_experts",
                                .expert_width_key = "moe_intermediate_size",
                                .dense_layers = DenseLayers::leading,
                                .router_bias = true};
  read_sizes(config, traits);
  read_experts(config, traits);
  check_mlp(config, traits);
  table.expect("first_k_dense_replace", !has_dense_layers(model) && model.moe.has_value(),
               "makes layers dense, which cannot be expanded here");
  AttentionShape heads{.window = 128, .sinks = true, .values_are_keys = true};
  require_count(table, "num_attention_heads", heads.query_heads, heads_limit);
  heads.kv_heads = 1;
  read_within(table, "num_key_value_heads", heads.kv_heads, 1, 1);
  require_count(table, "head_dim", heads.head_dim, head_dim_limit);
  heads.value_dim = heads.head_dim;
  read_within(table, "sliding_window", heads.window, 1, context_limit);
  CompressedAttention compressed;
  require_count(table, "q_lora_rank", compressed.query_rank, width_limit);
  require_count(table, "o_groups", compressed.output_groups, heads_limit);
  require_count(table, "o_lora_rank", compressed.output_rank, width_limit);
  require_count(table, "qk_rope_head_dim", compressed.rope_dim, head_dim_limit);
  int nope_dim = heads.head_dim - compressed.rope_dim;
  if (read_within(table, "qk_nope_head_dim", nope_dim, 0, head_dim_limit)) {
    table.expect("qk_nope_head_dim", nope_dim + compressed.rope_dim == heads.head_dim,
                 fmt::format("{} and qk_rope_head_dim = {} are not head_dim = {}", nope_dim,
                             compressed.rope_dim, heads.head_dim));
  }
  KeyIndex index;
  require_count(table, "index_n_heads", index.heads, heads_limit);
  require_count(table, "index_head_dim", index.head_dim, head_dim_limit);
  require_count(table, "index_topk", index.selected, context_limit);
  read_within(table, "hc_mult", model.hyper_streams, 1, streams_limit);
  pass_over(table, {"num_hash_layers", "hc_sinkhorn_iters", "hc_eps", "compress_rope_theta",
                    "attention_bias", "intermediate_size"});
  if (!table.diagnostics().empty()) return;
  table.expect(
      "o_groups", heads.query_heads % compressed.output_groups == 0,
      fmt::format("{} does not divide the {} heads", compressed.output_groups, heads.query_heads));
  model.query_heads = heads.query_heads;
  model.kv_heads = heads.kv_heads;
  model.head_dim = heads.head_dim;
  model.compressed = compressed;
  read_v4_kinds(config, heads, index);
}

}  // namespace foretoken
