// Gemma. Sources: transformers' configuration and modeling files of gemma, gemma2, gemma3 and
// gemma4.
#include <algorithm>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {
namespace {

constexpr DecoderTraits gemma = {.qk_norm = true,
                                 .post_norms = true,
                                 .tied_embeddings = true,
                                 .window = WindowUse::by_pattern,
                                 .window_period = 6,
                                 .activation_key = "hidden_activation",
                                 .activation = "gelu_pytorch_tanh"};

}  // namespace

void read_gemma(ConfigReader& config) {
  DecoderTraits traits = gemma;
  traits.qk_norm = false;
  traits.post_norms = false;
  traits.window = WindowUse::never;
  config.table.find("hidden_act");  // hidden_activation is what counts
  read_decoder(config, traits);
}

void read_gemma2(ConfigReader& config) {
  DecoderTraits traits = gemma;
  traits.qk_norm = false;
  traits.window_period = 2;
  config.table.find("hidden_act");
  read_decoder(config, traits);
}

void read_gemma3(ConfigReader& config) { read_decoder(config, gemma); }

void read_gemma3_vision(ConfigReader& config) {
  read_gemma3(config);
  read_vision_tower(config);
}

namespace {

/// The last layers of the E models read keys and values that the last layer before them of their
/// kind keeps, and may have MLPs of twice the width.
void add_sharing_kinds(ConfigReader& config, std::vector<LayerKind>& kinds,
                       std::vector<int>& pattern) {
  int sharing = 0;
  bool is_wide = false;
  read_within(config.table, "num_kv_shared_layers", sharing, 0, layers_limit);
  config.table.read("use_double_wide_mlp", is_wide);
  if (sharing == 0) return;
  const int own = config.model.layers - sharing;
  config.table.expect("num_kv_shared_layers", own > 0, "leaves no layer with its own keys");
  if (own <= 0) return;
  const auto count = static_cast<int>(kinds.size());
  for (int kind = 0; kind < count; ++kind) {
    LayerKind shared = kinds[static_cast<std::size_t>(kind)];
    shared.name += "_shared";
    shared.attention.shares_kv = true;
    if (is_wide) shared.intermediate *= 2;
    kinds.push_back(std::move(shared));
  }
  for (auto layer = static_cast<std::size_t>(own); layer < pattern.size(); ++layer) {
    pattern[layer] += count;
  }
}

/// Layers with full attention have heads of another number and width.
void read_gemma4_kinds(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  LayerKind sliding{.name = "sliding", .attention = model.attention(0)};
  sliding.intermediate = model.intermediate;
  require_count(table, "sliding_window", sliding.attention.window, context_limit);
  LayerKind full{.name = "full", .attention = model.attention(0)};
  full.intermediate = model.intermediate;
  read_within(table, "global_head_dim", full.attention.head_dim, 1, head_dim_limit);
  full.attention.value_dim = full.attention.head_dim;
  read_within(table, "num_global_key_value_heads", full.attention.kv_heads, 1, heads_limit);
  table.read("attention_k_eq_v", full.attention.values_are_keys);
  std::vector<int> pattern;
  for (const std::string& type :
       read_layer_types(config, {"full_attention", "sliding_attention"})) {
    pattern.push_back(type == "full_attention" ? 1 : 0);
  }
  if (pattern.empty()) table.fail("layer_types", "is missing");
  std::vector<LayerKind> kinds = {sliding, full};
  if (!pattern.empty()) add_sharing_kinds(config, kinds, pattern);
  set_kinds(model, std::move(kinds), std::move(pattern));
}

/// Experts beside a dense MLP, which every token passes as it would a shared expert.
void read_gemma4_experts(ConfigReader& config, const DecoderTraits& traits) {
  bool has_experts = false;
  config.table.read("enable_moe_block", has_experts);
  for (const std::string_view key :
       {traits.experts_key, traits.topk_key, traits.expert_width_key}) {
    config.table.find(key);
  }
  if (!has_experts) return;
  read_experts(config, traits);
  if (!config.model.moe) return;
  require_count(config.table, "intermediate_size", config.model.moe->shared_intermediate,
                width_limit);
}

}  // namespace

void read_gemma4(ConfigReader& config) {
  DecoderTraits traits = gemma;
  traits.experts_key = "num_experts";
  traits.topk_key = "top_k_experts";
  traits.expert_width_key = "moe_intermediate_size";
  TableReader& table = config.table;
  Transformer& model = config.model;
  table.find("use_bidirectional_attention");  // between the tokens of an image
  read_sizes(config, traits);
  read_within(table, "hidden_size_per_layer_input", model.layer_embedding, 0, width_limit);
  std::int64_t vocabulary = model.vocabulary;
  read_within(table, "vocab_size_per_layer_input", vocabulary, 1, vocabulary_limit);
  table.expect("vocab_size_per_layer_input",
               model.layer_embedding == 0 || vocabulary == model.vocabulary,
               "differs from vocab_size, which cannot be expanded");
  read_attention(config, traits);
  read_gemma4_experts(config, traits);
  read_dense_width(config);
  check_mlp(config, traits);
  if (table.diagnostics().empty()) read_gemma4_kinds(config);
  read_vision_tower(config);
  read_audio_tower(config, "gemma4");
}

}  // namespace foretoken
