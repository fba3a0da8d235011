// Models whose layers are of kinds: heads of their own, other widths, parts that are missing. Sizes
// are derived by hand.
#include <gmock/gmock.h>

#include "models/operator_graph.hpp"
#include "models/parallel_layout.hpp"
#include "models/sequence_memory.hpp"
#include "models/transformer.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::layer_kinds_test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kinds_text = R"(name = "kinds"
layers = 3
hidden = 64
intermediate = 128
query_heads = 4
kv_heads = 2
head_dim = 16
vocabulary = 640
context_max = 1024
layer_kinds = ["full", "sliding", "skipped"]
[kinds.full]
kv_heads = 1
[kinds.sliding]
value_dim = 8
window = 32
attention_sinks = true
intermediate = 256
[kinds.skipped]
attention = false
)";

Transformer kinds() { return read_model(parse_toml(kinds_text, "m")); }

Transformer imported(std::string_view text) {
  return import_hugging_face(parse_json(text, {"config.json"}), "m");
}

std::string mistake(const std::string& text) {
  try {
    read_model(parse_toml(text, "m"));
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

// full:    qkv 64 x (4 + 2 x 1) x 16, o 64 x 64; MLP 3 x 64 x 128; two norms.
// sliding: qkv 64 x (4 x 16 + 2 x (16 + 8)), o (4 x 8) x 64, four sinks; MLP 3 x 64 x 256; norms.
// skipped: MLP and one norm.
TEST(LayerKinds, CountEachLayersOwnWeights) {
  const std::int64_t full = 64 * 96 + 64 * 64 + 3 * 64 * 128 + 2 * 64;
  const std::int64_t sliding = 64 * (64 + 2 * 24) + 32 * 64 + 4 + 3 * 64 * 256 + 2 * 64;
  const std::int64_t skipped = 3 * 64 * 128 + 64;
  EXPECT_EQ(parameter_count(kinds()), full + sliding + skipped + 2 * 640 * 64 + 64);
}

TEST(LayerKinds, CacheWhatEachLayerKeeps) {
  // full: one head of 16 + 16; sliding: two of 16 + 8; nothing where there is no attention.
  EXPECT_EQ(kv_bytes_per_token(kinds(), DType::bf16), Bytes(2.0 * (32 + 48)));
  // Over two ranks the one head is on both.
  EXPECT_EQ(kv_bytes_per_token_per_rank(kinds(), {.tensor = 2}, 0, DType::bf16),
            Bytes(2.0 * (32 + 24)));
}

TEST(LayerKinds, AreWrittenBack) {
  EXPECT_EQ(read_model(parse_toml(model_toml(kinds()), "m")), kinds());
}

TEST(LayerKinds, MistakesAreTold) {
  std::string unknown(kinds_text);
  unknown.replace(unknown.find("\"skipped\"]"), 10, "\"skippt\"]");
  EXPECT_THAT(mistake(unknown), HasSubstr("unknown kind of layer 'skippt'; did you mean"));
  std::string without(kinds_text);
  without.resize(without.find("[kinds.full]"));
  EXPECT_THAT(mistake(without), HasSubstr("layer_kinds: needs a table [kinds.NAME]"));
  std::string odd(kinds_text);
  odd.replace(odd.find("kv_heads = 1"), 12, "kv_heads = 3");
  EXPECT_THAT(mistake(odd), HasSubstr("kv_heads: 3 does not divide the 4 query heads"));
}

TEST(LayerKinds, TensorParallelismMustFitAll) {
  Diagnostics diagnostics;
  check_layout(kinds(), {.tensor = 3}, {}, diagnostics);
  EXPECT_FALSE(diagnostics.empty());
}

TEST(LayerKinds, DeciLmSkipsParts) {
  const Transformer model = imported(R"({"architectures": ["DeciLMForCausalLM"],
    "hidden_size": 1024, "max_position_embeddings": 4096, "num_attention_heads": 8,
    "num_hidden_layers": 3, "vocab_size": 1000, "intermediate_size": null,
    "num_key_value_heads": null, "block_configs": [
      {"attention": {"n_heads_in_group": 4, "no_op": false}, "ffn": {"ffn_mult": 2.625}},
      {"attention": {"n_heads_in_group": null, "no_op": true}, "ffn": {"ffn_mult": 5.25}},
      {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": null, "no_op": true}}]})");
  // 2 x 2.625 x 1024 / 3 is 1792, and 5.25 makes 3584: both multiples of 256.
  EXPECT_EQ(model.dense_width(0), 1792);
  EXPECT_EQ(model.dense_width(1), 3584);
  EXPECT_EQ(model.attention(0).kv_heads, 2);
  const std::int64_t attention = 2 * 1024 * 1024 + 2 * 1024 * 256;
  EXPECT_EQ(parameter_count(model),
            2 * attention + 3 * 1024 * (1792 + 3584) + 4 * 1024 + 2 * 1000 * 1024 + 1024);
}

TEST(LayerKinds, MimoV2HasOtherHeadsInItsWindows) {
  const Transformer model = imported(R"({"architectures": ["MiMoV2FlashForCausalLM"],
    "add_swa_attention_sink_bias": true, "head_dim": 192, "hidden_size": 4096,
    "hybrid_layer_pattern": [0, 1, 1, 0], "intermediate_size": 16384,
    "max_position_embeddings": 262144, "moe_intermediate_size": 2048,
    "moe_layer_freq": [0, 1, 1, 1], "n_routed_experts": 256, "num_attention_heads": 64,
    "num_experts_per_tok": 8, "num_hidden_layers": 4, "num_key_value_heads": 4,
    "sliding_window": 128, "swa_head_dim": 192, "swa_num_attention_heads": 64,
    "swa_num_key_value_heads": 8, "swa_v_head_dim": 128, "v_head_dim": 128,
    "vocab_size": 152576})");
  EXPECT_EQ(model.window(1), 128);
  EXPECT_TRUE(model.attention(1).sinks);
  EXPECT_FALSE(model.attention(0).sinks);
  EXPECT_EQ(kv_bytes_per_token(model, DType::bf16), Bytes(2.0 * 320 * (4 + 8 + 8 + 4)));
  const std::int64_t shared = 4096 * 64 * 192 + 64 * 128 * 4096;  // queries and output
  const std::int64_t attention = 4 * shared + 4096 * 320 * 24 + 2 * 64;
  const std::int64_t experts = 3 * (256 * 3LL * 4096 * 2048 + 4096 * 256 + 256);
  EXPECT_EQ(parameter_count(model),
            attention + experts + 3 * 4096 * 16384 + 9 * 4096 + 2 * 152576LL * 4096);
}

TEST(LayerKinds, GemmasFullLayersHaveKeysForValues) {
  const Transformer model = imported(R"({"architectures": ["Gemma4ForCausalLM"],
    "attention_k_eq_v": true, "enable_moe_block": false, "global_head_dim": 512, "head_dim": 256,
    "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 5376, "intermediate_size": 21504,
    "layer_types": ["sliding_attention", "full_attention"], "max_position_embeddings": 262144,
    "num_attention_heads": 32, "num_global_key_value_heads": 4, "num_hidden_layers": 2,
    "num_key_value_heads": 16, "sliding_window": 1024, "vocab_size": 262144})");
  EXPECT_EQ(kv_bytes_per_token(model, DType::bf16), Bytes(2.0 * (2 * 16 * 256 + 2 * 4 * 512)));
  const std::int64_t sliding = 5376 * (32 + 2 * 16) * 256 + 32 * 256 * 5376 + 2 * 256;
  const std::int64_t full = 5376 * (32 + 4) * 512 + 32 * 512 * 5376 + 2 * 512;
  EXPECT_EQ(parameter_count(model),
            sliding + full + 2 * (3 * 5376 * 21504 + 4 * 5376) + 262144LL * 5376 + 5376);
}

// One layer in two has experts; the others a wider MLP.
TEST(LayerKinds, Llama4InterleavesExperts) {
  const Transformer model = imported(R"({"architectures": ["Llama4ForConditionalGeneration"],
    "text_config": {"attention_chunk_size": 8192, "head_dim": 128, "hidden_size": 5120,
      "interleave_moe_layer_step": 2, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
      "max_position_embeddings": 1048576, "num_attention_heads": 40, "num_experts_per_tok": 1,
      "num_hidden_layers": 4, "num_key_value_heads": 8, "num_local_experts": 128,
      "use_qk_norm": true, "vocab_size": 202048}})");
  EXPECT_FALSE(model.is_moe_layer(0));
  EXPECT_TRUE(model.is_moe_layer(1));
  EXPECT_EQ(model.window(2), 8192);
  EXPECT_EQ(model.window(3), 0);
  EXPECT_TRUE(model.attention(2).is_chunked);
  EXPECT_FALSE(model.attention(3).is_chunked);
  const std::int64_t attention = 5120 * 128 * (40 + 16) + 40 * 128 * 5120 + 2 * 5120;
  const std::int64_t experts = 129 * 3LL * 5120 * 8192 + 128 * 5120;
  EXPECT_EQ(parameter_count(model),
            4 * attention + 2 * experts + 2 * 3 * 5120 * 16384 + 2 * 202048LL * 5120 + 5120);
}

}  // namespace
}  // namespace foretoken::layer_kinds_test
