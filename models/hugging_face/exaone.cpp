// LG's EXAONE 3, 3.5, 4 and K-EXAONE. Sources: huggingface/transformers, models/exaone4 and
// exaone_moe; what is published with EXAONE 3.
#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

constexpr DecoderTraits exaone = {
    .qk_norm = true, .window = WindowUse::by_pattern, .window_period = 4};

/// "LLLG": local and global layers, repeating, the last one global; in place of a period.
void read_local_layers(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const Value* value = table.find("sliding_window_pattern");
  const bool has_letters = value != nullptr && std::holds_alternative<std::string>(value->data);
  if (!has_letters || table.find("layer_types") != nullptr) return read_windows(config, exaone);
  std::int64_t window = 0;
  if (!read_within(table, "sliding_window", window, 1, context_limit)) return;
  const auto& letters = std::get<std::string>(value->data);
  table.expect("sliding_window_pattern",
               !letters.empty() && letters.find_first_not_of("LG") == std::string::npos,
               fmt::format("'{}' is not understood; L and G are", letters));
  if (!table.diagnostics().empty()) return;
  std::vector<std::int64_t> windows;
  for (int layer = 0; layer < model.layers; ++layer) {
    const bool is_local = letters[static_cast<std::size_t>(layer) % letters.size()] == 'L';
    windows.push_back(is_local && layer + 1 < model.layers ? window : 0);
  }
  model.window_pattern = shortest_pattern(std::move(windows));
}

}  // namespace

/// Llama by other names; num_hidden_layers is num_layers (its class' attribute map).
void read_exaone3(ConfigReader& config) {
  read_within(config.table, "num_layers", config.model.layers, 1, layers_limit);
  read_decoder(config, {.activation_key = "activation_function"});
}

/// Norms stand behind attention and MLP instead of before: as many, of the same work.
void read_exaone4(ConfigReader& config) {
  read_sizes(config, exaone);
  read_attention(config, exaone);
  read_local_layers(config);
  read_dense_width(config);
  check_mlp(config, exaone);
}

void read_exaone_moe(ConfigReader& config) {
  DecoderTraits traits = exaone;
  traits.experts_key = "num_experts";
  traits.expert_width_key = "moe_intermediate_size";
  traits.shared_experts_key = "num_shared_experts";
  traits.dense_layers = DenseLayers::leading;
  traits.router_bias = true;
  read_sizes(config, traits);
  read_attention(config, traits);
  read_local_layers(config);
  read_experts(config, traits);
  // The first alone, where nothing lists them.
  TableReader& table = config.table;
  const bool is_listed =
      table.find("first_k_dense_replace") != nullptr || table.find("mlp_layer_types") != nullptr;
  if (config.model.moe && !is_listed) config.model.moe->dense_layers = 1;
  table.find("is_moe_layer");  // a list of the same
  read_dense_width(config);
  check_mlp(config, traits);
}

}  // namespace foretoken
