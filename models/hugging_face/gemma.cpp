// Gemma 3 and 4. Sources: transformers' configuration and modeling files of gemma3 and gemma4.
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

void read_gemma3(ConfigReader& config) { read_decoder(config, gemma); }

void read_gemma3_vision(ConfigReader& config) {
  read_gemma3(config);
  read_vision_tower(config);
}

namespace {

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
  set_kinds(model, {sliding, full}, std::move(pattern));
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
  for (const char* key : {"hidden_size_per_layer_input", "num_kv_shared_layers"}) {
    std::int64_t count = 0;
    if (read_within(table, key, count, 0, width_limit)) {
      table.expect(key, count == 0, "embeddings and keys that layers share cannot be expanded");
    }
  }
  table.find("vocab_size_per_layer_input");   // of those embeddings
  table.find("use_bidirectional_attention");  // between the tokens of an image
  read_sizes(config, traits);
  read_attention(config, traits);
  read_gemma4_experts(config, traits);
  read_dense_width(config);
  check_mlp(config, traits);
  if (table.diagnostics().empty()) read_gemma4_kinds(config);
  read_vision_tower(config);
}

}  // namespace foretoken
