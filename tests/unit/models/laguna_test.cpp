// Poolside's Laguna, parameters by hand from the shapes of the checkpoint's tensors.
#include <gmock/gmock.h>

#include "models/operator_graph.hpp"
#include "models/parallel_layout.hpp"
#include "models/sequence_memory.hpp"
#include "models/transformer.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::laguna_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Transformer imported(std::string_view more) {
  const std::string text = fmt::format(
      R"({{"architectures": ["LagunaForCausalLM"], "head_dim": 128, "hidden_size": 3072,
    "intermediate_size": 12288, "max_position_embeddings": 262144, "moe_intermediate_size": 1024,
    "num_attention_heads": 48, "num_experts": 256, "num_experts_per_tok": 10,
    "num_hidden_layers": 4, "num_key_value_heads": 8, "shared_expert_intermediate_size": 1024,
    "vocab_size": 100352, "moe_routed_scaling_factor": 2.5{}}})",
      more);
  Transformer model = import_hugging_face(parse_json(text, {"config.json"}), "m");
  EXPECT_EQ(read_model(parse_toml(model_toml(model), "m")), model);
  return model;
}

constexpr std::string_view as_published = R"(, "gating": "per-head",
    "gating_types": ["per_head", "per_head", "per_head", "per_head"],
    "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
                    "sliding_attention"],
    "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"], "mlp_only_layers": [0],
    "num_attention_heads_per_layer": [48, 72, 72, 72], "sliding_window": 512)";

TEST(Laguna, SlidingLayersHaveMoreHeads) {
  const Transformer model = imported(as_published);
  const std::int64_t hidden = 3072;
  const std::int64_t attention =
      hidden * 128 * (2 * (48 + 3 * 72) + 4 * 2 * 8) + 4 * 2 * 128;  // with norms of a head
  const std::int64_t mlps = 3 * hidden * 12288 + 3 * 257 * 3 * hidden * 1024;
  const std::int64_t routers = 3 * (256 * hidden + 256);
  EXPECT_EQ(parameter_count(model),
            attention + mlps + routers + 2 * 100352 * hidden + (2 * 4 + 1) * hidden);
  EXPECT_THAT(model.left_out, ElementsAre(HasSubstr("a gate for each attention head")));
  EXPECT_EQ(model.attention(0).query_heads, 48);
  EXPECT_EQ(model.attention(3).query_heads, 72);
  EXPECT_EQ(model.window(0), 0);
  EXPECT_EQ(model.window(1), 512);
  const SequenceMemory memory = sequence_memory_per_rank(model, {}, 0, DType::bf16);
  EXPECT_EQ(memory.per_token, Bytes(2.0 * 8 * 128 * 2)) << "full layers alone grow";
}

// As the class fills them in: the first layer dense, all of them full.
TEST(Laguna, LeavesOutWhatTheClassSays) {
  const Transformer model = imported("");
  EXPECT_FALSE(model.is_moe_layer(0));
  EXPECT_TRUE(model.is_moe_layer(1));
  EXPECT_EQ(model.attention(3).query_heads, 48);
  EXPECT_EQ(model.window(3), 0);
}

TEST(Laguna, RefusesWhatItCannotExpand) {
  const auto message = [](const char* more) -> std::string {
    try {
      imported(more);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(R"(, "gating": "per-element")"),
              HasSubstr("'per-element' is not understood; per_head is"));
  EXPECT_THAT(message(R"(, "num_attention_heads_per_layer": [48, 72])"),
              HasSubstr("lists 2 layers of 4"));
  EXPECT_THAT(message(R"(, "num_attention_heads_per_layer": [48, 72, 70, 72])"),
              HasSubstr("70 heads are not a multiple of the 8 of keys"));
}

}  // namespace
}  // namespace foretoken::laguna_test
