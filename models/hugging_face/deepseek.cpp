// DeepSeek-V2, V3 and V3.2, Kimi K2, which is V3 with other sizes, and GLM-5, which is V3.2 with
// others. Sources: the configuration and modeling files published with the models.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

DecoderTraits deepseek(bool router_bias) {
  return {.is_latent = true,
          .experts_key = "n_routed_experts",
          .expert_width_key = "moe_intermediate_size",
          .dense_layers = DenseLayers::leading,
          .router_bias = router_bias};
}

}  // namespace

void read_deepseek_v2(ConfigReader& config) { read_decoder(config, deepseek(false)); }

namespace {

/// The lightning indexer of DeepSeek-V3.2 and GLM-5.
KeyIndex read_index(TableReader& table) {
  KeyIndex index;
  require_count(table, "index_n_heads", index.heads, heads_limit);
  require_count(table, "index_head_dim", index.head_dim, head_dim_limit);
  require_count(table, "index_topk", index.selected, context_limit);
  return index;
}

/// GLM-5's, of which GlmMoeDsaConfig fills in what is left out.
KeyIndex read_glm_index(ConfigReader& config) {
  TableReader& table = config.table;
  KeyIndex index{.heads = 32, .head_dim = 128, .selected = 2048};
  const bool has_all = read_within(table, "index_n_heads", index.heads, 1, heads_limit) &
                       read_within(table, "index_head_dim", index.head_dim, 1, head_dim_limit) &
                       read_within(table, "index_topk", index.selected, 1, context_limit);
  if (!has_all) {
    config.model.left_out.push_back(
        fmt::format("not all of its index is in the file; with transformers' defaults: {} heads of "
                    "{}, best {} keys",
                    index.heads, index.head_dim, index.selected));
  }
  return index;
}

/// A letter a layer in index_topk_pattern, or a word in indexer_types.
std::vector<std::string> read_indexer_types(TableReader& table) {
  std::vector<std::string> types;
  if (table.read("indexer_types", types)) return types;
  std::string pattern;
  table.read("index_topk_pattern", pattern);
  for (const char letter : pattern) {
    types.emplace_back(letter == 'F' ? "full" : letter == 'S' ? "shared" : std::string(1, letter));
  }
  return types;
}

/// Which layers have an index of their own: all, those that GLM-5.2 lists, or by its period after
/// the first few (two where nothing says how many: GlmMoeDsaConfig).
std::vector<int> read_index_layers(ConfigReader& config) {
  TableReader& table = config.table;
  const auto layers = static_cast<std::size_t>(config.model.layers);
  int period = 1, first = 2;
  read_within(table, "index_topk_freq", period, 1, layers_limit);
  read_within(table, "index_skip_topk_offset", first, 0, layers_limit);
  pass_over(table, {"index_topk_pattern", "index_share_for_mtp_iteration"});
  std::vector<int> shared(layers, 0);
  if (const auto types = read_indexer_types(table); !types.empty()) {
    table.expect("indexer_types", types.size() == layers,
                 fmt::format("lists {} layers of {}", types.size(), layers));
    for (std::size_t i = 0; i < std::min(layers, types.size()); ++i) {
      table.expect("indexer_types", types[i] == "full" || types[i] == "shared",
                   fmt::format("'{}' is not understood; full and shared are", types[i]));
      shared[i] = types[i] == "shared" ? 1 : 0;
    }
    return shared;
  }
  for (int layer = first; layer < config.model.layers && period > 1; ++layer) {
    if ((layer - first + 1) % period != 0) shared[static_cast<std::size_t>(layer)] = 1;
  }
  return shared;
}

void read_sparse_kinds(ConfigReader& config, const KeyIndex& index) {
  Transformer& model = config.model;
  TableReader& table = config.table;
  table.find("indexer_rope_interleave");
  LayerKind own{.name = "sparse", .attention = model.attention(0)};
  own.attention.index = index;
  own.intermediate = model.intermediate;
  LayerKind shared = own;
  shared.name = "sparse_shared";
  shared.attention.index->is_shared = true;
  std::vector<int> pattern = read_index_layers(config);
  if (!table.diagnostics().empty()) return;
  const bool has_shared = std::ranges::find(pattern, 1) != pattern.end();
  std::vector<LayerKind> kinds = {own};
  if (has_shared) kinds.push_back(shared);
  set_kinds(model, std::move(kinds), std::move(pattern));
}

}  // namespace

void read_deepseek_v3(ConfigReader& config) {
  read_decoder(config, deepseek(true));
  // V3.2 was also published under V3's name.
  if (config.table.find("index_topk") != nullptr) {
    read_sparse_kinds(config, read_index(config.table));
  }
}

namespace {

void read_sparse_decoder(ConfigReader& config) {
  const DecoderTraits traits = deepseek(true);
  read_sizes(config, traits);
  read_attention(config, traits);
  read_experts(config, traits);
  read_dense_width(config);
  check_mlp(config, traits);
  // All layers are sparse; the number of experts again.
  read_layer_types(config, {"deepseek_sparse_attention"});
  config.table.find("num_experts");
}

}  // namespace

void read_deepseek_v32(ConfigReader& config) {
  read_sparse_decoder(config);
  read_sparse_kinds(config, read_index(config.table));
}

void read_glm_moe_dsa(ConfigReader& config) {
  read_sparse_decoder(config);
  read_sparse_kinds(config, read_glm_index(config));
}

void read_kimi_k25(ConfigReader& config) {
  read_deepseek_v3(config);
  read_vision_tower(config);
}

}  // namespace foretoken
