// Mamba-2 hybrids: Nemotron-H and 3, whose layers are one block each, Falcon-H1, whose layers have
// attention and a state space side by side, and Granite 4, which has either before an MLP or
// experts. Sources: transformers' configuration and modeling files of nemotron_h, falcon_h1 and
// granitemoehybrid.
#include <algorithm>
#include <array>
#include <utility>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

constexpr auto block_names = std::to_array<std::string_view>({"mamba", "attention", "mlp", "moe"});
constexpr std::string_view block_letters = "M*-E";

/// The block of each layer, an index into block_names: "hybrid_override_pattern" has a letter a
/// layer, "layers_block_type" a name.
std::vector<int> read_blocks(TableReader& table) {
  std::vector<int> blocks;
  std::vector<std::string> names;
  std::string letters;
  if (table.read("layers_block_type", names)) {
    for (const std::string& name : names) {
      const auto found = std::ranges::find(block_names, name);
      table.expect(
          "layers_block_type", found != block_names.end(),
          fmt::format("'{}' cannot be expanded; {} can", name, fmt::join(block_names, ", ")));
      blocks.push_back(static_cast<int>(found - block_names.begin()));
    }
  }
  if (table.read("hybrid_override_pattern", letters) && blocks.empty()) {
    for (const char letter : letters) {
      const auto at = block_letters.find(letter);
      table.expect("hybrid_override_pattern", at != std::string_view::npos,
                   fmt::format("'{}' cannot be expanded; M, *, - and E can", letter));
      blocks.push_back(static_cast<int>(at));
    }
  }
  if (blocks.empty()) table.fail("hybrid_override_pattern", "is missing: the block of each layer");
  return blocks;
}

StateShape read_nemotron_state(TableReader& table) {
  // vLLM keeps these states in fp32 even where nothing says so (models/config.py, NemotronH).
  StateShape state{.kind = StateKind::mamba2,
                   .key_heads = 8,
                   .taps = 4,
                   .conv_bias = true,
                   .state_dtype = DType::fp32};
  require_count(table, "mamba_num_heads", state.value_heads, heads_limit);
  require_count(table, "mamba_head_dim", state.value_dim, head_dim_limit);
  require_count(table, "ssm_state_size", state.key_dim, head_dim_limit);
  read_within(table, "n_groups", state.key_heads, 1, heads_limit);
  read_within(table, "conv_kernel", state.taps, 1, head_dim_limit);
  table.read("use_conv_bias", state.conv_bias);
  for (const char* key : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}) {
    read_state_dtype(table, key, state);
  }
  bool bias = false;
  table.read("mamba_proj_bias", bias);
  table.expect("mamba_proj_bias", !bias, "linear layers with a bias cannot be expanded");
  pass_over(table, {"use_mamba_kernels", "expand", "chunk_size", "mamba_hidden_act",
                    "time_step_rank", "mtp_hybrid_override_pattern", "mtp_layers_block_type",
                    "moe_shared_expert_overlap", "n_groups"});
  return state;
}

void read_nemotron_experts(ConfigReader& config) {
  TableReader& table = config.table;
  read_experts(config, {.experts_key = "n_routed_experts",
                        .expert_width_key = "moe_intermediate_size",
                        .router_bias = true});
  if (!config.model.moe) return;
  MoeConfig& moe = *config.model.moe;
  std::int64_t count = 0, shared = moe.intermediate;
  read_within(table, "n_shared_experts", count, 0, experts_limit);
  read_within(table, "moe_shared_expert_intermediate_size", shared, 0, width_limit);
  moe.shared_intermediate = count * shared;
  read_within(table, "moe_latent_size", moe.latent, 0, width_limit);
}

}  // namespace

void read_nemotron_h(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  std::vector<int> blocks = read_blocks(table);
  int layers = static_cast<int>(blocks.size());
  read_within(table, "num_hidden_layers", layers, 1, layers_limit);
  table.expect("num_hidden_layers", static_cast<std::size_t>(layers) == blocks.size(),
               fmt::format("is {}, but {} blocks are listed", layers, blocks.size()));
  if (blocks.empty() || !table.diagnostics().empty()) return;
  model.layers = layers;
  DecoderTraits traits = {.activation_key = "mlp_hidden_act", .activation = "relu2"};
  read_sizes(config, traits);
  read_within(table, "attention_head_dim", model.head_dim, 1, head_dim_limit);
  const int own_head_dim = model.head_dim;
  read_attention(config, traits);
  if (own_head_dim > 0) model.head_dim = own_head_dim;
  check_mlp(config, traits);
  model.ungated_mlp = true;
  LayerKind mamba{.name = "mamba", .has_attention = false, .has_mlp = false};
  mamba.state = read_nemotron_state(table);
  const LayerKind attention{.name = "attention", .attention = model.attention(0), .has_mlp = false};
  LayerKind mlp{.name = "mlp", .has_attention = false, .has_experts = false};
  LayerKind experts{.name = "moe", .has_attention = false};
  const auto has = [&](int block) { return std::ranges::find(blocks, block) != blocks.end(); };
  table.find("intermediate_size");
  if (has(2)) {
    require_count(table, "intermediate_size", mlp.intermediate, width_limit);
    model.intermediate = experts.intermediate = mlp.intermediate;
  }
  if (has(3)) {
    read_nemotron_experts(config);
  } else {
    pass_over(table,
              {"n_routed_experts", "moe_intermediate_size", "n_shared_experts",
               "num_experts_per_tok", "moe_shared_expert_intermediate_size", "moe_latent_size"});
  }
  if (!table.diagnostics().empty()) return;
  // Kinds that no layer has are left out.
  std::vector<LayerKind> kinds;
  std::array<int, block_names.size()> number{};
  const std::array all = {mamba, attention, mlp, experts};
  for (std::size_t block = 0; block < all.size(); ++block) {
    if (!has(static_cast<int>(block))) continue;
    number[block] = static_cast<int>(kinds.size());
    kinds.push_back(all[block]);
  }
  for (int& block : blocks) block = number[static_cast<std::size_t>(block)];
  set_kinds(model, std::move(kinds), std::move(blocks));
}

namespace {

/// The fields that Falcon-H1 and Granite 4 share. `width`: of all heads together, where the width
/// of a head follows from it.
StateShape read_mamba(TableReader& table, StateShape state, std::int64_t width) {
  require_count(table, "mamba_n_heads", state.value_heads, heads_limit);
  const Value* head = table.find("mamba_d_head");
  if (head != nullptr && !head->is_string()) {
    require_count(table, "mamba_d_head", state.value_dim, head_dim_limit);
  } else if (state.value_heads > 0) {  // "auto"
    state.value_dim = static_cast<int>(width / state.value_heads);
    table.expect("mamba_n_heads", state.value_dim > 0, "leaves its heads no width");
  }
  read_within(table, "mamba_n_groups", state.key_heads, 1, heads_limit);
  read_within(table, "mamba_d_state", state.key_dim, 1, head_dim_limit);
  read_within(table, "mamba_d_conv", state.taps, 1, head_dim_limit);
  table.read("mamba_conv_bias", state.conv_bias);
  pass_over(table, {"mamba_expand", "mamba_chunk_size", "mamba_proj_bias"});
  return state;
}

}  // namespace

void read_falcon_h1(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  read_decoder(config, {});
  LayerKind both{.name = "hybrid", .attention = model.attention(0)};
  both.intermediate = model.intermediate;
  std::int64_t width = 0;
  read_within(table, "mamba_d_ssm", width, 1, width_limit);
  both.state = read_mamba(
      table, {.kind = StateKind::mamba2, .key_heads = 1, .key_dim = 256, .conv_bias = true}, width);
  pass_over(table, {"mamba_norm_before_gate", "mamba_rms_norm", "mamba_use_mlp", "projectors_bias",
                    "attention_in_multiplier", "attention_out_multiplier", "mlp_multipliers",
                    "ssm_multipliers", "key_multiplier", "ssm_in_multiplier", "ssm_out_multiplier",
                    "lm_head_multiplier", "mlp_expansion_factor", "attn_layer_indices"});
  if (!table.diagnostics().empty()) return;
  set_kinds(model, {both}, {0});
}

void read_granite_hybrid(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.experts_key = "num_local_experts",
                                .expert_width_key = "intermediate_size"};
  read_sizes(config, traits);
  read_attention(config, traits);
  check_mlp(config, traits);
  std::int64_t experts = 0, shared = 0;
  read_within(table, "num_local_experts", experts, 0, experts_limit);
  require_count(table, "shared_intermediate_size", shared, width_limit);
  if (experts > 0) {
    read_experts(config, traits);
    if (model.moe) model.moe->shared_intermediate = shared;
  } else {
    pass_over(table, {"num_experts_per_tok", "intermediate_size"});
    model.intermediate = shared;
  }
  table.find("position_embedding_type");
  LayerKind mamba{.name = "mamba", .has_attention = false};
  LayerKind full{.name = "full", .attention = model.attention(0)};
  double expand = 2;
  table.read("mamba_expand", expand);
  mamba.state = read_mamba(
      table, {.kind = StateKind::mamba2, .key_heads = 1, .key_dim = 256, .conv_bias = true},
      static_cast<std::int64_t>(expand * static_cast<double>(model.hidden)));
  mamba.intermediate = full.intermediate = model.intermediate;
  const auto types = read_layer_types(config, {"mamba", "attention"});
  if (types.empty()) table.fail("layer_types", "is missing");
  if (!table.diagnostics().empty()) return;
  set_kinds(model, {mamba, full}, kinds_of(types, {"mamba", "attention"}));
}

}  // namespace foretoken
