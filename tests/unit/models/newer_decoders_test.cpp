// Decoders that the importer learned one or two traits for, parameters by hand from the shapes of
// the checkpoints' tensors, and whole ones against their published sizes.
#include <gmock/gmock.h>

#include "models/operator_graph.hpp"
#include "models/transformer.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::newer_decoders_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Of 4 layers, 1,024 wide, 8 heads of 128 on 2, 1,000 words.
Transformer imported(std::string_view architecture, std::string_view more) {
  const std::string text = fmt::format(
      R"({{"architectures": ["{}"], "head_dim": 128, "hidden_size": 1024,
    "intermediate_size": 4096, "max_position_embeddings": 65536, "num_attention_heads": 8,
    "num_hidden_layers": 4, "num_key_value_heads": 2, "vocab_size": 1000{}}})",
      architecture, more);
  Transformer model = import_hugging_face(parse_json(text, {"config.json"}), "m");
  EXPECT_EQ(read_model(parse_toml(model_toml(model), "m")), model);
  return model;
}

constexpr std::int64_t attention = 1024 * 128 * (8 + 2 * 2 + 8);
constexpr std::int64_t head_norms = 2 * 128, words = 2 * 1000 * 1024;
constexpr std::int64_t expert = 3 * 1024 * 512, mlp = 3 * 1024 * 4096;

std::vector<std::int64_t> windows(const Transformer& model) {
  std::vector<std::int64_t> out;
  for (int layer = 0; layer < model.layers; ++layer) out.push_back(model.window(layer));
  return out;
}

TEST(Exaone, LocalLayersByLettersAndNumbers) {
  const auto with = [](const char* more) { return imported("Exaone4ForCausalLM", more); };
  const Transformer letters = with(R"(, "sliding_window": 4096, "sliding_window_pattern": "LLG")");
  EXPECT_EQ(parameter_count(letters), 4 * (attention + head_norms + mlp + 2 * 1024) + words + 1024);
  EXPECT_THAT(windows(letters), ElementsAre(4096, 4096, 0, 0)) << "the last is global";
  EXPECT_THAT(windows(with(R"(, "sliding_window": 4096, "sliding_window_pattern": 2)")),
              ElementsAre(4096, 0, 4096, 0));
  EXPECT_THAT(windows(with(R"(, "sliding_window": 4096, "sliding_window_pattern": "LLLG",
    "layer_types": ["full_attention", "sliding_attention", "full_attention", "full_attention"])")),
              ElementsAre(0, 4096, 0, 0));
  EXPECT_THAT(windows(with(R"(, "sliding_window": null)")), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT([&] { with(R"(, "sliding_window": 4096, "sliding_window_pattern": "LXG")"); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("'LXG' is not understood")));
}

TEST(Exaone, ExpertsBehindTheFirstLayer) {
  const Transformer model = imported("ExaoneMoEForCausalLM", R"(, "moe_intermediate_size": 512,
    "num_experts": 16, "num_experts_per_tok": 4, "num_shared_experts": 1,
    "is_moe_layer": [false, true, true, true], "sliding_window": 128)");
  EXPECT_EQ(parameter_count(model), 4 * (attention + head_norms + 2 * 1024) + mlp +
                                        3 * (17 * expert + 16 * 1024 + 16) + words + 1024);
  EXPECT_THAT(windows(model), ElementsAre(128, 128, 128, 0));
}

// Four norms a layer, and a gate as wide as what attention returns.
TEST(Afmoe, GatesItsAttention) {
  const Transformer model = imported("AfmoeForCausalLM", R"(, "moe_intermediate_size": 512,
    "num_experts": 16, "num_experts_per_tok": 4, "num_shared_experts": 2, "num_dense_layers": 2,
    "global_attn_every_n_layers": 4, "sliding_window": 2048, "mup_enabled": true,
    "route_norm": true, "route_scale": 2.8, "score_func": "sigmoid")");
  EXPECT_EQ(parameter_count(model), 4 * (attention + 1024 * 8 * 128 + head_norms + 4 * 1024) +
                                        2 * mlp + 2 * (18 * expert + 16 * 1024 + 16) + words +
                                        1024);
  EXPECT_THAT(windows(model), ElementsAre(2048, 2048, 2048, 0));
  EXPECT_FALSE(model.is_moe_layer(1));
  EXPECT_TRUE(model.is_moe_layer(2));
}

TEST(DotsAndSolar, AreKnownShapes) {
  constexpr std::string_view experts = R"(, "moe_intermediate_size": 512, "n_routed_experts": 16,
    "n_shared_experts": 2, "num_experts_per_tok": 4)";
  const std::int64_t moe = 18 * expert + 16 * 1024 + 16;
  const Transformer dots = imported(
      "Dots1ForCausalLM", fmt::format(R"({}, "first_k_dense_replace": 1, "sliding_window": null,
    "max_window_layers": 62)",
                                      experts));
  EXPECT_EQ(parameter_count(dots),
            4 * (attention + head_norms + 2 * 1024) + mlp + 3 * moe + words + 1024);
  const Transformer solar = imported("SolarOpenForCausalLM", experts);
  EXPECT_EQ(parameter_count(solar), 4 * (attention + 2 * 1024 + moe) + words + 1024);
}

TEST(Ungated, MlpsHaveTwoProducts) {
  for (const char* architecture : {"ArceeForCausalLM", "NemotronForCausalLM"}) {
    const Transformer model = imported(architecture, R"(, "hidden_act": "relu2", "mlp_bias": false,
      "partial_rotary_factor": 0.5)");
    EXPECT_EQ(parameter_count(model), 4 * (attention + 2 * mlp / 3 + 2 * 1024) + words + 1024);
  }
  const Transformer apertus =
      imported("ApertusForCausalLM", R"(, "qk_norm": true, "post_norm": false)");
  EXPECT_EQ(parameter_count(apertus),
            4 * (attention + head_norms + 2 * mlp / 3 + 2 * 1024) + words + 1024);
}

TEST(Ungated, RefusesBiasesAndOtherActivations) {
  EXPECT_THAT([] { imported("ArceeForCausalLM", R"(, "mlp_bias": true)"); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("linear layers with a bias")));
  EXPECT_THAT([] { imported("ApertusForCausalLM", R"(, "hidden_act": "silu")"); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("'silu' cannot be expanded; xielu")));
  EXPECT_THAT([] { imported("InternLM3ForCausalLM", R"(, "bias": true)"); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("linear layers with a bias")));
}

TEST(Gemma, OfTheFirstTwoGenerations) {
  const std::int64_t tied = words / 2;
  const Transformer first =
      imported("GemmaForCausalLM", R"(, "hidden_act": "gelu", "hidden_activation": null)");
  EXPECT_EQ(parameter_count(first), 4 * (attention + mlp + 2 * 1024) + tied + 1024);
  EXPECT_THAT(windows(first), ElementsAre(0, 0, 0, 0));
  const Transformer second = imported("Gemma2ForCausalLM", R"(, "sliding_window": 4096,
    "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
    "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "query_pre_attn_scalar": 256)");
  EXPECT_EQ(parameter_count(second), 4 * (attention + mlp + 4 * 1024) + tied + 1024);
  EXPECT_THAT(windows(second), ElementsAre(4096, 0, 4096, 0));
}

TEST(Cwm, LeavesTheFirstOfFourLayersFull) {
  EXPECT_THAT(windows(imported("CwmForCausalLM", R"(, "sliding_window": 8192)")),
              ElementsAre(0, 8192, 8192, 8192));
  EXPECT_THAT(windows(imported("CwmForCausalLM", R"(, "sliding_window": 8192, "layer_types":
    ["sliding_attention", "full_attention", "sliding_attention", "full_attention"])")),
              ElementsAre(8192, 0, 8192, 0));
}

// The shared expert's width has a key of its own.
// What save_pretrained leaves out is what the classes have, and what they write is read.
TEST(ClassDefaults, StandForWhatFlatFilesLeaveOut) {
  const auto without = [](std::string_view architecture, std::string_view more) {
    return import_hugging_face(
        parse_json(fmt::format(R"({{"architectures": ["{}"], "hidden_size": 2560,
    "intermediate_size": 4096, "max_position_embeddings": 65536, "num_attention_heads": 32,
    "num_hidden_layers": 4, "vocab_size": 1000{}}})",
                               architecture, more),
                   {"config.json"}),
        "m");
  };
  constexpr auto experts = R"(, "num_local_experts": 8, "num_experts_per_tok": 2)";
  EXPECT_EQ(without("Qwen3ForCausalLM", R"(, "num_key_value_heads": 8)").head_dim, 128);
  EXPECT_EQ(without("MixtralForCausalLM", experts).kv_heads, 8);
  EXPECT_EQ(without("GptOssForCausalLM", experts).head_dim, 64);
  EXPECT_THAT(without("MistralForCausalLM", "").left_out,
              ElementsAre("not in the file; transformers' defaults: num_key_value_heads = 8"));
}

TEST(ClassDefaults, SomeShareTheirEmbeddings) {
  for (const char* architecture : {"SmolLM3ForCausalLM", "Ernie4_5ForCausalLM"}) {
    EXPECT_TRUE(imported(architecture, "").tied_embeddings);
    EXPECT_FALSE(imported(architecture, R"(, "tie_word_embeddings": false)").tied_embeddings);
  }
}

TEST(ClassDefaults, WhatClassesWriteIsRead) {
  EXPECT_EQ(windows(imported("SmolLM3ForCausalLM", R"(, "no_rope_layers": [1, 1, 1, 0],
    "no_rope_layer_interval": 4)")),
            std::vector<std::int64_t>(4, 0));
  constexpr auto gemma = R"(, "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 512)";
  EXPECT_THAT(windows(imported("Gemma3ForCausalLM",
                               fmt::format(R"({}, "_sliding_window_pattern": 2)", gemma))),
              ElementsAre(512, 0, 512, 0));
  EXPECT_THAT(windows(imported("Gemma3ForCausalLM",
                               fmt::format(R"({}, "_sliding_window_pattern": 6, "layer_types":
    ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"])",
                                           gemma))),
              ElementsAre(0, 512, 512, 512));
  const Transformer ernie = imported("Ernie4_5_MoeForCausalLM", R"(, "moe_num_experts": 8,
    "moe_k": 2, "moe_intermediate_size": 512, "moe_layer_start_index": 1,
    "moe_layer_end_index": -1)");
  EXPECT_TRUE(ernie.is_moe_layer(3)) << "-1 is the last layer";
}

TEST(Ling, ExpertsBesideASharedOne) {
  const Transformer model = imported("BailingMoeV2ForCausalLM", R"(, "moe_intermediate_size": 512,
    "num_experts": 16, "num_experts_per_tok": 4, "num_shared_experts": 1, "n_group": 4,
    "topk_group": 2, "first_k_dense_replace": 1, "moe_shared_expert_intermediate_size": 256,
    "moe_router_enable_expert_bias": true, "use_qk_norm": true, "use_qkv_bias": false,
    "use_bias": false, "norm_head": false, "score_function": "sigmoid", "embedding_dropout": 0.0,
    "output_dropout": 0.0, "using_split_qkv_in_self_attention": false, "use_rmsnorm": true,
    "router_dtype": "fp32", "use_sliding_window": false, "num_nextn_predict_layers": 1)");
  EXPECT_EQ(parameter_count(model), 4 * (attention + head_norms + 2 * 1024) + mlp +
                                        3 * (16 * expert + expert / 2 + 16 * 1024 + 16) + words +
                                        1024);
  EXPECT_EQ(model.moe->groups.count, 4);
  EXPECT_EQ(model.mtp_layers, 1);
  const Transformer shared = imported("BailingMoeForCausalLM", R"(, "moe_intermediate_size": 512,
    "num_experts": 16, "num_experts_per_tok": 4, "num_shared_experts": 2)");
  EXPECT_EQ(parameter_count(shared),
            4 * (attention + 2 * 1024 + 18 * expert + 16 * 1024) + words + 1024);
}

struct Published {
  const char* architecture;
  const char* sizes;
  double billions;
};

class PublishedSizes : public testing::TestWithParam<Published> {};

TEST_P(PublishedSizes, AreMetWithinAHundredth) {
  const Transformer model = import_hugging_face(
      parse_json(fmt::format(R"({{"architectures": ["{}"], "max_position_embeddings": 4096, {}}})",
                             GetParam().architecture, GetParam().sizes),
                 {"config.json"}),
      "m");
  const double billions = static_cast<double>(parameter_count(model)) * 1e-9;
  EXPECT_NEAR(billions, GetParam().billions, 0.01 * GetParam().billions);
}

INSTANTIATE_TEST_SUITE_P(
    NewerDecoders, PublishedSizes,
    testing::Values(
        Published{"BailingMoeV2ForCausalLM",  // Ling-mini 2.0
                  R"("hidden_size": 2048, "num_hidden_layers": 20, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 5120, "vocab_size": 157184,
    "moe_intermediate_size": 512, "num_experts": 256, "num_experts_per_tok": 8,
    "num_shared_experts": 1, "first_k_dense_replace": 1, "use_qk_norm": true)",
                  16.26},
        Published{"BailingMoeForCausalLM",  // Ling-lite
                  R"("hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 5632, "vocab_size": 126464,
    "moe_intermediate_size": 1408, "num_experts": 64, "num_experts_per_tok": 6,
    "num_shared_experts": 2)",
                  16.8},
        Published{"DeepseekForCausalLM",  // DeepSeek-MoE 16B
                  R"("hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 16, "intermediate_size": 10944, "vocab_size": 102400,
    "moe_intermediate_size": 1408, "n_routed_experts": 64, "num_experts_per_tok": 6,
    "n_shared_experts": 2, "first_k_dense_replace": 1, "moe_layer_freq": 1)",
                  16.4},
        Published{"PhiMoEForCausalLM",  // Phi-3.5-MoE
                  R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 6400, "vocab_size": 32064,
    "num_local_experts": 16, "num_experts_per_tok": 2, "attention_bias": true,
    "lm_head_bias": true, "input_jitter_noise": 0.01, "router_jitter_noise": 0.01)",
                  41.9},
        Published{"NemotronForCausalLM",  // Nemotron-4 340B
                  R"("hidden_size": 18432, "num_hidden_layers": 96, "num_attention_heads": 96,
    "num_key_value_heads": 8, "intermediate_size": 73728, "vocab_size": 256000,
    "hidden_act": "relu2", "norm_eps": 1e-5)",
                  341},
        Published{"Gemma2ForCausalLM",  // Gemma 2 9B
                  R"("hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 14336, "vocab_size": 256000,
    "sliding_window": 4096)",
                  9.24},
        Published{"ApertusForCausalLM",  // Apertus 8B
                  R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 21504, "vocab_size": 131072)",
                  8.05},
        Published{"InternLM3ForCausalLM",  // InternLM3 8B
                  R"("hidden_size": 4096, "num_hidden_layers": 48, "num_attention_heads": 32,
    "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 10240, "vocab_size": 128512,
    "bias": false, "qkv_bias": false)",
                  8.80},
        Published{"ExaoneForCausalLM",  // EXAONE 3.5 7.8B
                  R"("hidden_size": 4096, "num_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336, "vocab_size": 102400,
    "activation_function": "silu", "embed_dropout": 0.0, "layer_norm_epsilon": 1e-5)",
                  7.82},
        Published{"GlmForCausalLM",  // GLM-4 9B
                  R"("hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32,
    "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 13696, "vocab_size": 151552,
    "attention_bias": true)",
                  9.40},
        Published{"MiniCPMForCausalLM",  // MiniCPM 2B
                  R"("hidden_size": 2304, "num_hidden_layers": 40, "num_attention_heads": 36,
    "num_key_value_heads": 36, "intermediate_size": 5760, "vocab_size": 122753, "scale_emb": 12,
    "dim_model_base": 256, "scale_depth": 1.4)",
                  2.72}));

}  // namespace
}  // namespace foretoken::newer_decoders_test
