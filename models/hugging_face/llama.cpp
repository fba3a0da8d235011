// Llama and the decoders built as it is. Sources: transformers' configuration and modeling files of
// each; Llama-4's and DeciLM's (Nemotron Super) as published with the models.
#include <algorithm>
#include <cmath>

#include "models/hugging_face/decoder.hpp"
#include "models/hugging_face/encoder.hpp"
#include "models/hugging_face/families.hpp"
#include "models/model_fields.hpp"

namespace foretoken {

void read_llama(ConfigReader& config) { read_decoder(config, {}); }

/// Layers without rotary embedding (no_rope_layers) cost the same.
void read_smollm3(ConfigReader& config) {
  read_decoder(config, {.tied_embeddings = true});
  pass_over(config.table, {"no_rope_layers", "no_rope_layer_interval"});
}

void read_voxtral(ConfigReader& config) {
  read_llama(config);
  read_audio_tower(config, "voxtral");
}

void read_mistral(ConfigReader& config) { read_decoder(config, {.window = WindowUse::always}); }

void read_mixtral(ConfigReader& config) {
  read_decoder(config, {.window = WindowUse::always,
                        .experts_key = "num_local_experts",
                        .expert_width_key = "intermediate_size"});
}

void read_mistral3(ConfigReader& config) {
  // Behind the same eyes stand dense models and, since Mistral 4, some of latent attention.
  if (config.table.find("kv_lora_rank") != nullptr) {
    read_deepseek_v3(config);
  } else {
    read_mistral(config);
  }
  read_vision_tower(config);
}

void read_olmoe(ConfigReader& config) {
  read_decoder(config, {.qk_norm_full = true,
                        .experts_key = "num_experts",
                        .expert_width_key = "intermediate_size"});
}

namespace {

/// Leaves three layers in four chunked: a query sees its own chunk of attention_chunk_size tokens.
void read_chunks(ConfigReader& config) {
  Transformer& model = config.model;
  std::int64_t chunk = 8192;
  read_within(config.table, "attention_chunk_size", chunk, 1, context_limit);
  std::vector<std::int64_t> windows(static_cast<std::size_t>(model.layers), chunk);
  std::vector<int> has_rope;
  constexpr int full_every = 4;
  config.table.find("no_rope_layer_interval");
  const auto types = read_layer_types(config, {"full_attention", "chunked_attention"});
  const bool is_listed =
      config.table.read("no_rope_layers", has_rope) && has_rope.size() == windows.size();
  for (std::size_t layer = 0; layer < windows.size(); ++layer) {
    const bool is_full = types.size() == windows.size() ? types[layer] == "full_attention"
                         : is_listed                    ? has_rope[layer] == 0
                                                        : (layer + 1) % full_every == 0;
    if (is_full) windows[layer] = 0;
  }
  model.window_pattern = shortest_pattern(std::move(windows));
  model.chunked_windows = !model.window_pattern.empty();
}

}  // namespace

void read_llama4(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  const DecoderTraits traits = {.experts_key = "num_local_experts",
                                .expert_width_key = "intermediate_size"};
  read_sizes(config, traits);
  read_attention(config, traits);
  model.qk_norm = false;  // use_qk_norm: of no weights, on layers with rotary embedding
  read_experts(config, traits);
  if (model.moe) {
    model.moe->shared_intermediate = model.moe->intermediate;
    read_within(table, "interleave_moe_layer_step", model.moe->step, 1, layers_limit);
    table.find("moe_layers");  // follows from the step
  }
  table.find("intermediate_size_mlp");
  if (has_dense_layers(model)) {
    require_count(table, "intermediate_size_mlp", model.intermediate, width_limit);
  }
  read_chunks(config);
  check_mlp(config, traits);
  read_vision_tower(config);
}

namespace {

/// The width that DeciLM makes of a multiple of the hidden size: two thirds, up to the next 256.
std::int64_t decilm_width(double multiple, std::int64_t hidden) {
  const auto width = static_cast<std::int64_t>(2 * multiple * static_cast<double>(hidden) / 3);
  return (width + 255) / 256 * 256;
}

/// One entry of block_configs.
LayerKind read_block(const Value& value, const Transformer& model, Diagnostics& diagnostics) {
  LayerKind kind;
  TableReader block(value, diagnostics, "block_configs");
  const auto has_part = [&](TableReader& part, bool& is_linear) {
    bool is_missing = false;
    part.read("no_op", is_missing);
    part.read("replace_with_linear", is_linear);
    for (const char* key : {"sparsify", "window_length", "num_sink_tokens"}) {
      if (part.find(key) != nullptr) part.fail(key, "is not understood");
    }
    return !is_missing;
  };
  if (const Value* attention = block.find_table("attention")) {
    TableReader part(*attention, diagnostics, "block_configs.attention");
    kind.has_attention = has_part(part, kind.linear_attention) && !kind.linear_attention;
    int group = 0;
    if (kind.has_attention && require_count(part, "n_heads_in_group", group, heads_limit)) {
      part.expect("n_heads_in_group", model.query_heads % group == 0,
                  fmt::format("{} does not divide the {} query heads", group, model.query_heads));
      kind.attention = {.query_heads = model.query_heads,
                        .kv_heads = std::max(model.query_heads / group, 1),
                        .head_dim = model.head_dim,
                        .value_dim = model.head_dim};
    }
  }
  if (const Value* ffn = block.find_table("ffn")) {
    TableReader part(*ffn, diagnostics, "block_configs.ffn");
    kind.has_mlp = has_part(part, kind.linear_mlp);
    double multiple = 0;
    if (kind.has_mlp && !kind.linear_mlp && part.require("ffn_mult", multiple)) {
      constexpr double multiple_max = 100;
      part.expect("ffn_mult", multiple > 0 && multiple <= multiple_max, "must be from 0 to 100");
      if (multiple > 0 && multiple <= multiple_max) {
        kind.intermediate = decilm_width(multiple, model.hidden);
      }
    }
  }
  return kind;
}

}  // namespace

void read_decilm(ConfigReader& config) {
  TableReader& table = config.table;
  Transformer& model = config.model;
  read_sizes(config, {});
  read_attention(config, {});
  check_mlp(config, {});
  const Value* blocks = table.find("block_configs");
  if (blocks == nullptr || !blocks->is_array()) {
    table.fail("block_configs", "is missing: a table for each layer");
    return;
  }
  const auto& list = std::get<ValueArray>(blocks->data);
  table.expect(
      "block_configs", list.size() == static_cast<std::size_t>(model.layers),
      fmt::format("lists {} layers, but num_hidden_layers = {}", list.size(), model.layers));
  std::vector<LayerKind> kinds;
  std::vector<int> pattern;
  for (const Value& value : list) {
    if (!value.is_object()) {
      table.fail("block_configs", "must hold tables");
      return;
    }
    LayerKind kind = read_block(value, model, table.diagnostics());
    auto found = std::ranges::find_if(kinds, [&](LayerKind& known) {
      kind.name = known.name;
      return known == kind;
    });
    if (found == kinds.end()) {
      kind.name = fmt::format("block_{}", kinds.size());
      found = kinds.insert(kinds.end(), kind);
    }
    pattern.push_back(static_cast<int>(found - kinds.begin()));
    if (kind.has_attention) model.kv_heads = kind.attention.kv_heads;
  }
  set_kinds(model, std::move(kinds), std::move(pattern));
}

}  // namespace foretoken
