// MiniMax-M3: attention to blocks of keys that a small index picks. Source: the fields of its
// config.json; the index's products as AIConfigurator's table of the layer describes them.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

void read_m3_kinds(ConfigReader& config, const Value& sparse_config) {
  Transformer& model = config.model;
  TableReader table(sparse_config, config.table.diagnostics(), "sparse_attention_config");
  bool is_sparse = true;
  table.read("use_sparse_attention", is_sparse);
  if (!is_sparse) return;
  KeyIndex index;
  int blocks = 0;
  require_count(table, "sparse_num_index_heads", index.heads, heads_limit);
  require_count(table, "sparse_index_dim", index.head_dim, head_dim_limit);
  require_count(table, "sparse_block_size", index.block, context_limit);
  require_count(table, "sparse_topk_blocks", blocks, context_limit);
  std::vector<int> pattern(static_cast<std::size_t>(model.layers), 1);
  if (table.read("sparse_attention_freq", pattern)) {
    table.expect(
        "sparse_attention_freq",
        pattern.size() == static_cast<std::size_t>(model.layers) &&
            std::ranges::all_of(pattern, [](int is) { return is == 0 || is == 1; }),
        fmt::format("must be a 0 (full) or 1 (sparse) for each of the {} layers", model.layers));
  }
  if (!config.table.diagnostics().empty()) return;
  index.selected = std::int64_t{index.block} * blocks;
  LayerKind full{.name = "full", .attention = model.attention(0)};
  full.intermediate = model.intermediate;
  LayerKind sparse = full;
  sparse.name = "sparse";
  sparse.attention.index = index;
  set_kinds(model, {full, sparse}, std::move(pattern));
}

}  // namespace

void read_minimax_m3(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.qk_norm = true,
                                .experts_key = "num_local_experts",
                                .expert_width_key = "moe_intermediate_size",
                                .dense_layers = DenseLayers::leading};
  read_sizes(config, traits);
  read_attention(config, traits);
  read_experts(config, traits);
  check_mlp(config, traits);
  pass_over(table, {"intermediate_size", "qk_norm_type", "num_mtp_modules",
                    "mtp_transformer_layers", "use_gemma_norm"});
  bool has_gate = false;
  table.read("attention_output_gate", has_gate);
  table.expect("attention_output_gate", !has_gate, "gates of attention cannot be expanded here");
  if (model.moe) {
    table.read("use_routing_bias", model.moe->router_bias);
    std::int64_t shared = model.moe->intermediate, count = 0;
    read_within(table, "shared_intermediate_size", shared, 0, width_limit);
    read_within(table, "n_shared_experts", count, 0, experts_limit);
    model.moe->shared_intermediate = shared * count;
  }
  table.find("dense_intermediate_size");
  if (has_dense_layers(model)) {
    require_count(table, "dense_intermediate_size", model.intermediate, width_limit);
  }
  if (const Value* sparse = table.find_table("sparse_attention_config");
      sparse != nullptr && table.diagnostics().empty()) {
    read_m3_kinds(config, *sparse);
  }
  read_vision_tower(config);
}

}  // namespace foretoken
