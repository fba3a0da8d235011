// Configurations as publishers vary them: fields left out that transformers fills in, older keys,
// layers that share or lack parts, blocks of layers under other names. Parameters are derived by
// hand from the shapes of the checkpoints' tensors.
#include <gmock/gmock.h>

#include "models/operator_graph.hpp"
#include "models/parallel_layout.hpp"
#include "models/sequence_memory.hpp"
#include "models/transformer.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::variations_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Transformer imported(std::string_view text) {
  Transformer model = import_hugging_face(parse_json(text, {"config.json"}), "m");
  EXPECT_EQ(read_model(parse_toml(model_toml(model), "m")), model);
  return model;
}

// Two layers of Gemma 4 E2B's four kinds, sizes as published. Layers that share keys have no
// products for them and twice the MLP; each layer has an embedding of its own, 256 wide.
TEST(Variations, Gemma4SharesKeysAndHasEmbeddingsByLayer) {
  const Transformer model = imported(R"({"architectures": ["Gemma4ForConditionalGeneration"],
    "audio_config": {"num_hidden_layers": 12}, "text_config": {
    "attention_k_eq_v": false, "enable_moe_block": false, "global_head_dim": 512, "head_dim": 256,
    "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1536,
    "hidden_size_per_layer_input": 256, "intermediate_size": 6144, "layer_types":
    ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
    "max_position_embeddings": 131072, "num_attention_heads": 8,
    "num_global_key_value_heads": null, "num_hidden_layers": 4, "num_key_value_heads": 1,
    "num_kv_shared_layers": 2, "sliding_window": 512, "use_double_wide_mlp": true,
    "vocab_size": 262144, "vocab_size_per_layer_input": 262144}})");
  const std::int64_t own = 1536 * (8 + 2) * 256 + 8 * 256 * 1536 + 2 * 256 +  // sliding
                           1536 * (8 + 2) * 512 + 8 * 512 * 1536 + 2 * 512;   // full
  const std::int64_t sharing = 2 * 1536 * 8 * 256 + 256 + 2 * 1536 * 8 * 512 + 512;
  const std::int64_t mlps = 2 * 3 * 1536 * (6144 + 12288) + 4 * 4 * 1536;
  const std::int64_t by_layer = 4 * (2 * 256 * 1536 + 1536);
  const std::int64_t inputs = 262144LL * 4 * 256 + 1536 * 4 * 256 + 256;
  EXPECT_EQ(parameter_count(model),
            own + sharing + mlps + by_layer + inputs + 262144LL * 1536 + 1536);
  EXPECT_EQ(kv_bytes_per_token(model, DType::bf16), Bytes(2.0 * 2 * (256 + 512)));
  EXPECT_EQ(weight_bytes_per_rank(model, {}, 0, DType::bf16),
            Bytes(2.0 * static_cast<double>(parameter_count(model) + model.encoder_weights())));
  EXPECT_THAT(model.left_out, testing::IsEmpty());
  EXPECT_TRUE(model.takes(Medium::audio));
}

TEST(Variations, DeciLmPutsProductsInPlaceOfBlocks) {
  const Transformer model = imported(R"({"architectures": ["DeciLMForCausalLM"],
    "hidden_size": 1024, "max_position_embeddings": 4096, "num_attention_heads": 8,
    "num_hidden_layers": 2, "vocab_size": 1000, "block_configs": [
      {"attention": {"n_heads_in_group": 4, "replace_with_linear": false},
       "ffn": {"ffn_mult": null, "replace_with_linear": true}},
      {"attention": {"n_heads_in_group": null, "no_op": false, "replace_with_linear": true},
       "ffn": {"ffn_mult": 5.25, "no_op": false, "replace_with_linear": false}}]})");
  const std::int64_t attention = 2 * 1024 * 1024 + 2 * 1024 * 256;
  EXPECT_EQ(parameter_count(model),
            attention + 2 * 1024 * 1024 + 3 * 1024 * 3584 + 4 * 1024 + 2 * 1000 * 1024 + 1024);
  EXPECT_EQ(kv_bytes_per_token(model, DType::bf16), Bytes(2.0 * 2 * 256));
}

// Granite 4 has a state space or attention before its experts.
TEST(Variations, GraniteMixesStateSpacesAndExperts) {
  const Transformer model = imported(R"({"architectures": ["GraniteMoeHybridForCausalLM"],
    "hidden_size": 4096, "intermediate_size": 768, "layer_types": ["mamba", "attention"],
    "mamba_conv_bias": true, "mamba_d_conv": 4, "mamba_d_head": "auto", "mamba_d_state": 128,
    "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 128, "mamba_proj_bias": false,
    "max_position_embeddings": 131072, "num_attention_heads": 32, "num_experts_per_tok": 10,
    "num_hidden_layers": 2, "num_key_value_heads": 8, "num_local_experts": 72,
    "position_embedding_type": "nope", "shared_intermediate_size": 1536,
    "attention_multiplier": 0.0078125, "tie_word_embeddings": true, "vocab_size": 100352})");
  const std::int64_t mamba =
      4096 * (2 * 8192 + 2 * 128 + 128) + (8192 + 256) * 5 + 3 * 128 + 8192 + 8192 * 4096;
  const std::int64_t attention = 4096 * (32 + 16) * 128 + 4096 * 4096;
  const std::int64_t experts = 2 * (72 * 3LL * 4096 * 768 + 72 * 4096 + 3 * 4096 * 1536);
  EXPECT_EQ(parameter_count(model),
            mamba + attention + experts + 4 * 4096 + 100352LL * 4096 + 4096);
}

// StepFun's own words: sliding layers have more heads, and one layer more is listed, a prediction
// module's.
TEST(Variations, StepInItsOwnWords) {
  const Transformer model = imported(R"({"architectures": ["Step3p5ForCausalLM"], "head_dim": 128,
    "hidden_size": 4096, "intermediate_size": 11264, "num_hidden_layers": 3,
    "max_position_embeddings": 262144, "num_attention_heads": 64, "num_attention_groups": 8,
    "vocab_size": 128896, "sliding_window": 512, "layer_types": ["full_attention",
    "sliding_attention", "sliding_attention", "full_attention"], "attention_other_setting":
    {"attention_type": "sliding_attention", "num_attention_heads": 96, "num_attention_groups": 8,
    "head_dim": 128}, "moe_intermediate_size": 1280, "moe_num_experts": 288, "moe_top_k": 8,
    "moe_layers_enum": "1,2", "share_expert_dim": 1280, "use_moe_router_bias": true,
    "use_head_wise_attn_gate": true, "num_nextn_predict_layers": 1})");
  EXPECT_EQ(model.attention(1).query_heads, 96);
  EXPECT_EQ(model.window(1), 512);
  EXPECT_EQ(model.window(0), 0);
  const std::int64_t full = 4096 * (64 + 16) * 128 + 64 * 128 * 4096 + 256;
  const std::int64_t sliding = 2 * (4096 * (96 + 16) * 128 + 96 * 128 * 4096 + 256);
  const std::int64_t experts = 2 * (289 * 3LL * 4096 * 1280 + 288 * 4096 + 288);
  EXPECT_EQ(parameter_count(model),
            full + sliding + experts + 3 * 4096 * 11264 + 6 * 4096 + 2 * 128896LL * 4096 + 4096);
  EXPECT_THAT(model.left_out, ElementsAre(HasSubstr("a gate for each attention head")));
}

TEST(Variations, HunyuanListsTheSameForEveryLayer) {
  const Transformer model = imported(R"({"architectures": ["HunYuanMoEV1ForCausalLM"],
    "head_dim": 128, "hidden_size": 4096, "intermediate_size": 3072,
    "max_position_embeddings": 32768, "moe_intermediate_size": [3072, 3072], "moe_topk": [8, 8],
    "num_attention_heads": 32, "num_experts": 64, "num_hidden_layers": 2,
    "num_key_value_heads": 8, "num_shared_expert": [1, 1], "use_cla": false, "use_qk_norm": true,
    "tie_word_embeddings": true, "cla_share_factor": 2, "vocab_size": 128167})");
  EXPECT_EQ(model.moe->topk, 8);
  const std::int64_t attention = 2 * (4096 * (32 + 16) * 128 + 4096 * 4096 + 256);
  EXPECT_EQ(
      parameter_count(model),
      attention + 2 * (65 * 3LL * 4096 * 3072 + 64 * 4096 + 2 * 4096) + 128167LL * 4096 + 4096);
}

// transformers leaves out of a nested table what is as its class has it: gemma-3-4b-it's.
TEST(Variations, NestedTablesMayLeaveOutTheirClassDefaults) {
  const Transformer model = imported(R"({"architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
    "num_hidden_layers": 34, "sliding_window": 1024}})");
  EXPECT_EQ(model.query_heads, 8);
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_dim, 256);
  EXPECT_EQ(model.vocabulary, 262208);
  EXPECT_THAT(model.left_out, ElementsAre(HasSubstr("num_attention_heads = 8")));
}

// MiniMax-M2 as first published has constants of its predecessor's layers.
TEST(Variations, ConstantsOfTheComputationArePassedOver) {
  const Transformer model = imported(R"({"architectures": ["MiniMaxM2ForCausalLM"],
    "head_dim": 128, "hidden_size": 3072, "intermediate_size": 1536,
    "layernorm_full_attention_beta": 1.0, "layernorm_linear_attention_beta": 1.0,
    "layernorm_mlp_beta": 1.0, "mlp_intermediate_size": 8192, "shared_moe_mode": "sigmoid",
    "max_position_embeddings": 196608, "num_attention_heads": 48, "num_experts_per_tok": 8,
    "num_hidden_layers": 1, "num_key_value_heads": 8, "num_local_experts": 256,
    "qk_norm_type": "per_layer", "use_qk_norm": true, "use_routing_bias": true,
    "vocab_size": 200064})");
  EXPECT_TRUE(model.qk_norm_full);
  EXPECT_TRUE(model.qk_norm_sums);
}

// Mistral Large 3 and GLM-4.7 Flash are built as DeepSeek-V3, Mistral 4 behind Mistral 3's eyes
// too.
TEST(Variations, LatentAttentionUnderOtherNames) {
  constexpr std::string_view sizes = R"("first_k_dense_replace": 1, "hidden_size": 2048,
    "intermediate_size": 10240, "kv_lora_rank": 512, "max_position_embeddings": 131072,
    "moe_intermediate_size": 1536, "n_routed_experts": 64, "n_shared_experts": 1,
    "num_attention_heads": 20, "num_experts_per_tok": 4, "num_hidden_layers": 2,
    "q_lora_rank": 768, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
    "vocab_size": 154880)";
  const auto flat = [&](std::string_view name) {
    return imported(fmt::format(R"({{"architectures": ["{}"], {}}})", name, sizes));
  };
  const std::int64_t parameters = parameter_count(flat("DeepseekV3ForCausalLM"));
  EXPECT_EQ(parameter_count(flat("MistralLarge3ForCausalLM")), parameters);
  EXPECT_EQ(parameter_count(flat("Glm4MoeLiteForCausalLM")), parameters);
  EXPECT_EQ(parameter_count(imported(fmt::format(
                R"({{"architectures": ["Mistral3ForConditionalGeneration"],
                     "text_config": {{{}}}}})",
                sizes))),
            parameters);
}

constexpr std::string_view v4 = R"({"architectures": ["DeepseekV4ForCausalLM"],
    "compress_ratios": [0, 4], "expert_dtype": "fp4", "hc_mult": 4, "head_dim": 512,
    "hidden_size": 4096, "index_head_dim": 128, "index_n_heads": 64, "index_topk": 512,
    "max_position_embeddings": 1048576, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 6,
    "num_hidden_layers": 2, "num_key_value_heads": 1, "o_groups": 8, "o_lora_rank": 1024,
    "q_lora_rank": 1024, "qk_rope_head_dim": 64, "sliding_window": 128, "vocab_size": 129280)";

// As LLM Compressor saves DeepSeek-V4-Flash from transformers' class (RedHatAI): the rest of the
// head is in the file, the MLPs are nvfp4 over the experts' own fp4.
TEST(Variations, DeepSeekV4QuantisedAgain) {
  const auto with = [](std::string_view more) { return imported(fmt::format("{}{}}}", v4, more)); };
  const Transformer again = with(R"(, "qk_nope_head_dim": 448, "quantization_config": {
    "quant_method": "compressed-tensors", "config_groups": {
      "group_0": {"targets": ["re:.*attn.*(fused_wqa_wkv|wq_b|wo_a|wo_b)$"],
        "weights": {"num_bits": 8, "type": "float", "strategy": "block"},
        "input_activations": {"num_bits": 8, "type": "float"}},
      "group_1": {"targets": ["re:.*ffn.*(gate|up|down)_proj$"],
        "weights": {"num_bits": 4, "type": "float", "group_size": 16},
        "input_activations": {"num_bits": 4, "type": "float", "group_size": 16}}}})");
  WeightFormats formats(DType::fp8_block);
  formats.experts = formats.shared = DType::nvfp4;
  EXPECT_EQ(again.released, formats);
  EXPECT_EQ(parameter_count(again), parameter_count(with("")));
  EXPECT_EQ(with("").released->experts, DType::mxfp4);
  try {
    with(R"(, "qk_nope_head_dim": 128)");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("128 and qk_rope_head_dim = 64 are not head_dim = 512"));
  }
}

// ModelOpt's hf_quant_config.json (nvidia/DeepSeek-V4-Flash-NVFP4).
TEST(Variations, DeepSeekV4FormatsBesideTheFile) {
  const Value config = parse_json(fmt::format("{}}}", v4), {"config.json"});
  const Value beside = parse_json(R"({"quant_algo": "MIXED_PRECISION", "group_size": 16,
    "quantized_layers": {"layers.0.ffn.experts": {"quant_algo": "NVFP4", "group_size": 16},
                         "layers.1.ffn.experts": {"quant_algo": "NVFP4", "group_size": 16}},
    "exclude_modules": ["*.attn.*", "*.ffn.shared_experts.*", "head", "mtp.*"]})",
                                  {"hf_quant_config.json"});
  const Transformer model = import_hugging_face(config, "m", &beside);
  EXPECT_EQ(model.released->experts, DType::nvfp4);
  EXPECT_EQ(model.released->attention, DType::bf16);
}

// GLM-5 saved without what its class fills in, and its layers by letters.
TEST(Variations, GlmFillsInItsIndex) {
  const std::string text = R"({"architectures": ["GlmMoeDsaForCausalLM"],
    "first_k_dense_replace": 1, "hidden_size": 6144, "intermediate_size": 12288,
    "kv_lora_rank": 512, "max_position_embeddings": 202752, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 64,
    "num_experts_per_tok": 8, "num_hidden_layers": 4, "q_lora_rank": 2048,
    "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "vocab_size": 154880)";
  const std::string index = R"(, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048)";
  const Transformer filled = imported(text + "}"), told = imported(text + index + "}");
  EXPECT_EQ(parameter_count(filled), parameter_count(told));
  EXPECT_EQ(filled.attention(3).index, told.attention(3).index);
  EXPECT_THAT(filled.left_out, ElementsAre(HasSubstr("32 heads of 128, best 2048 keys")));
  EXPECT_THAT(told.left_out, testing::IsEmpty());
  const auto shares = [](const Transformer& model) {
    std::vector<bool> layers;
    for (int i = 0; i < model.layers; ++i) layers.push_back(model.attention(i).index->is_shared);
    return layers;
  };
  EXPECT_THAT(shares(imported(text + index + R"(, "index_topk_pattern": "FSFS"})")),
              ElementsAre(false, true, false, true));
  EXPECT_THAT(shares(imported(text + index + R"(, "index_topk_freq": 2})")),
              ElementsAre(false, false, true, false));
}

}  // namespace
}  // namespace foretoken::variations_test
