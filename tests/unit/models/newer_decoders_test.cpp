// EXAONE 4, K-EXAONE, AFMoE, dots.llm1 and Solar Open, parameters by hand from the shapes of the
// checkpoints' tensors.
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

}  // namespace
}  // namespace foretoken::newer_decoders_test
