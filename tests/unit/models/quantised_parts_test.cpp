// Checkpoints whose parts have formats of their own: what counts, and what is told of the rest.
#include <gmock/gmock.h>

#include "models/operator_graph.hpp"
#include "models/parallel_layout.hpp"
#include "models/transformer.hpp"
#include "tests/unit/models/quantised_configs.hpp"

namespace foretoken::quantised_parts_test {
namespace {

using quantised_configs::dense;
using quantised_configs::experts;
using quantised_configs::formats;
using quantised_configs::groups;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(QuantisedParts, LayersThatDifferAreCountedAsMostAndTold) {
  const std::string block = R"({"quant_method": "fp8", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["lm_head", "model.layers.0"]})";
  const Transformer model = import_hugging_face(dense(block), "m");
  EXPECT_EQ(model.released, WeightFormats(DType::fp8_block));
  EXPECT_THAT(
      model.left_out,
      ElementsAre("1 of 4 layers keep attention in bf16: counted in fp8_block like the rest",
                  "1 of 4 layers keep dense MLPs in bf16: counted in fp8_block like the rest"));
}

// DeepSeek-R1's second NVFP4 checkpoint: of attention, the output's product alone, which is most of
// it.
TEST(QuantisedParts, ProductsThatDifferAreCountedAsMostAndTold) {
  const Transformer model = import_hugging_face(
      experts(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head",
                  "*.self_attn.q_*", "re:.*self_attn.kv_[ab]_proj.*"]})"),
      "m");
  EXPECT_EQ(model.released, WeightFormats(DType::nvfp4));
  EXPECT_THAT(model.left_out,
              ElementsAre("5 of 5 layers keep q_a_proj, q_b_proj, kv_a_proj_with_mqa, kv_b_proj of "
                          "attention in bf16: counted in nvfp4 like most of it"));
}

// Two thirds of an MLP decide, wherever the third is named.
TEST(QuantisedParts, MostOfAnMlpDecides) {
  const std::string fp8 = R"({"num_bits": 8, "type": "float"})";
  const Transformer down =
      import_hugging_face(dense(groups(fp8, fp8, R"("lm_head", "re:.*mlp.down_proj")")), "m");
  EXPECT_EQ(down.released, WeightFormats(DType::fp8));
  EXPECT_THAT(down.left_out,
              ElementsAre("4 of 4 layers keep down_proj of dense MLPs in bf16: counted in fp8 like "
                          "most of it"));
  WeightFormats expected(DType::bf16);
  expected.attention = DType::fp8;
  EXPECT_EQ(formats(dense(groups(fp8, fp8, R"("lm_head", "re:.*mlp.(gate|up)_proj")"))), expected);
}

// Gemma 4's experts stand beside the MLP of each layer, and below nothing that is called so.
TEST(QuantisedParts, ExpertsBesideAnMlpAreNotBelowIt) {
  Value config = parse_json(R"({"architectures": ["Gemma4ForCausalLM"], "hidden_size": 2816,
    "intermediate_size": 2112, "enable_moe_block": true, "num_experts": 128, "top_k_experts": 8,
    "moe_intermediate_size": 704, "num_hidden_layers": 2,
    "layer_types": ["sliding_attention", "full_attention"], "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 262144, "sliding_window": 1024,
    "max_position_embeddings": 262144})",
                            {"config.json"});
  config.set("quantization_config",
             parse_json(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore":
                            ["lm_head", "model.layers.*.mlp*", "model.layers.*.self_attn*"]})",
                        {"config.json"}));
  WeightFormats expected(DType::bf16);
  expected.experts = DType::nvfp4;
  EXPECT_EQ(formats(config), expected);
}

TEST(QuantisedParts, HeadsThatAreQuantisedAreTold) {
  EXPECT_THAT(
      import_hugging_face(dense(R"({"quant_method": "gptq", "bits": 4, "lm_head": true})"), "m")
          .left_out,
      ElementsAre("the LM head is published in w4a16: counted in bf16"));
}

TEST(QuantisedParts, KvCachesAreKeptAsTheCheckpointHasScalesFor) {
  const auto kept = [](const std::string& block) {
    return import_hugging_face(dense(block), "m").kv_released;
  };
  EXPECT_EQ(kept(R"({"quant_algo": "FP8", "kv_cache_scheme": {"num_bits": 8, "type": "float",
                     "dynamic": false}})"),
            DType::fp8);
  EXPECT_EQ(kept(R"({"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"})"), DType::fp8);
  EXPECT_EQ(kept(R"({"quant_algo": "FP8", "kv_cache_scheme": null})"), std::nullopt);
  EXPECT_EQ(kept(R"({"quant_method": "fp8"})"), std::nullopt);
}

}  // namespace
}  // namespace foretoken::quantised_parts_test
