// Image encoders: tokens of images by each model's rule, by hand, parameters, and the [vision]
// table.
#include <gmock/gmock.h>

#include "models/transformer.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::vision_test {
namespace {

MediaPatches cut(const char* model, std::int64_t width, std::int64_t height) {
  return load_model(model, {}).vision->patches_of(width, height);
}

// Patches of 16, 2 x 2 to a token: sides are multiples of 32, areas from 65,536 to 16,777,216.
TEST(Vision, QwenRoundsSidesIntoItsLimits) {
  // 720 / 32 = 22.5 goes to even, 22; 1280 / 32 = 40.
  EXPECT_EQ(cut("qwen3.5-27b", 1280, 720), (MediaPatches{1, 3520, 880}));
  EXPECT_EQ(cut("qwen3.5-27b", 720, 1280), (MediaPatches{1, 3520, 880}));
  // 1,024 pixels are 64 times too few: both sides eight times as long.
  EXPECT_EQ(cut("qwen3.5-27b", 32, 32).tokens, 64);
  // Four times too many: both sides halved, 4,096 / 32 = 128.
  EXPECT_EQ(cut("qwen3.5-27b", 8192, 8192).tokens, 16'384);
  EXPECT_EQ(load_model("qwen3.5-27b", {}).vision->tokens_most(), 16'384);
}

// Patches of 14, 2 x 2 to a token; 16,384 patches, never enlarged.
TEST(Vision, KimiShrinksAndPads) {
  EXPECT_EQ(cut("kimi-k2.5", 1000, 700), (MediaPatches{1, 3600, 900}));  // ceil(1000 / 28) x 25
  EXPECT_EQ(cut("kimi-k2.5", 1, 1).tokens, 1);
  // 285 x 214 patches: sqrt(16384 / 60990) = 0.5183 makes 2073 x 1554, 75 x 56 tokens.
  EXPECT_EQ(cut("kimi-k2.5", 4000, 3000).tokens, 75 * 56);
  EXPECT_EQ(cut("kimi-k3", 4000, 3000).tokens, 143 * 108);  // 65,536 patches are enough
  // A side of at most 512 patches: 14,336 x 28 pixels shrink by half.
  EXPECT_EQ(cut("kimi-k2.5", 14'336, 28).tokens, 256);
}

double billions(const Transformer& model) {
  return static_cast<double>(parameter_count(model) + model.encoder_weights()) * 1e-9;
}

// Kimi-VL names no width of its text; a token of text is as wide as the model. 16.4 billion are
// published.
TEST(Vision, MoonVitStandsBeforeKimiVl) {
  const Transformer model = import_hugging_face(
      parse_json(R"({"architectures": ["KimiVLForConditionalGeneration"], "model_type": "kimi_vl",
    "vision_config": {"model_type": "moonvit", "patch_size": 14, "num_attention_heads": 16,
      "num_hidden_layers": 27, "hidden_size": 1152, "intermediate_size": 4304,
      "merge_kernel_size": [2, 2], "init_pos_emb_height": 64, "init_pos_emb_width": 64},
    "text_config": {"model_type": "deepseek_v3", "hidden_size": 2048, "num_hidden_layers": 27,
      "intermediate_size": 11264, "moe_intermediate_size": 1408, "num_attention_heads": 16,
      "n_shared_experts": 2, "n_routed_experts": 64, "num_experts_per_tok": 6, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "q_lora_rank": null,
      "first_k_dense_replace": 1, "vocab_size": 163840, "max_position_embeddings": 131072}})",
                 {"config.json"}),
      "m");
  ASSERT_TRUE(model.vision);
  EXPECT_EQ(model.vision->patches_of(1000, 700), (MediaPatches{1, 3600, 900}));
  // 4,096 patches: sqrt(4096 / 60990) = 0.2591 of 4000 x 3000 makes 1036 x 777, 37 x 28 tokens.
  EXPECT_EQ(model.vision->patches_of(4000, 3000).tokens, 37 * 28);
  EXPECT_NEAR(billions(model), 16.4, 0.05);
}

// GLM-4.1V 9B; 10.3 billion are published.
TEST(Vision, GlmSeesWithDenseLayersToo) {
  const Transformer model = import_hugging_face(
      parse_json(R"({"architectures": ["Glm4vForConditionalGeneration"], "model_type": "glm4v",
    "vision_config": {"model_type": "glm4v", "depth": 24, "hidden_size": 1536, "num_heads": 12,
      "intermediate_size": 13696, "out_hidden_size": 4096, "patch_size": 14,
      "spatial_merge_size": 2, "temporal_patch_size": 2, "image_size": 336},
    "text_config": {"model_type": "glm4v_text", "hidden_size": 4096, "num_hidden_layers": 40,
      "intermediate_size": 13696, "num_attention_heads": 32, "num_key_value_heads": 2,
      "attention_bias": true, "vocab_size": 151552, "max_position_embeddings": 65536}})",
                 {"config.json"}),
      "m");
  ASSERT_TRUE(model.vision);
  EXPECT_NEAR(billions(model), 10.3, 0.05);
  EXPECT_EQ(model.vision->patches_of(1000, 700), (MediaPatches{1, 3600, 900}));  // 36 x 25
  EXPECT_EQ(model.vision->patches_of(1, 1).tokens, 9) << "32 patches make 9 tokens at least";
  EXPECT_EQ(model.vision->tokens_most(), 7500);
}

// 280 tokens of 48 x 48 pixels, 3 x 3 patches each, whatever the image; the encoder runs on all.
TEST(Vision, Gemma4FitsItsBudget) {
  // sqrt(645120 / 921600) = 0.8367: 1,070.9 x 602.4 pixels, 22 x 12 tokens.
  EXPECT_EQ(cut("gemma-4-31b", 1280, 720), (MediaPatches{1, 2520, 264}));
  EXPECT_EQ(cut("gemma-4-31b", 48, 48), (MediaPatches{1, 2520, 256}));  // 16.7 a side
  EXPECT_EQ(cut("gemma-4-31b", 10'000, 10).tokens, 280);                // a line
  EXPECT_EQ(cut("gemma-4-31b", 10, 10'000).tokens, 280);
}

MediaEncoder encoder(MediaSizing sizing) {
  MediaEncoder vision;
  vision.layers = 2;
  vision.hidden = 64;
  vision.intermediate = 128;
  vision.heads = 4;
  vision.head_dim = 16;
  vision.patch = 14;
  vision.projector = {64, 32};
  vision.sizing = sizing;
  return vision;
}

// Gemma 3: 896 / 14 = 64 patches on a side, 4 x 4 to a token.
TEST(Vision, ASquareIsAlwaysTheSame) {
  MediaEncoder vision = encoder(MediaSizing::square);
  vision.side_max = 64;
  vision.merge = 4;
  EXPECT_EQ(vision.patches_of(1, 5000), (MediaPatches{1, 4096, 256}));
  EXPECT_EQ(vision.tokens_most(), 256);
}

// Llama 4: tiles of 336 pixels, 24 x 24 patches, 144 tokens.
TEST(Vision, TilesWasteLeast) {
  MediaEncoder vision = encoder(MediaSizing::tiled);
  vision.side_max = 24;
  vision.merge = 2;
  vision.tiles_max = 16;
  EXPECT_EQ(vision.patches_of(336, 336), (MediaPatches{1, 576, 144}));
  // 4 x 3 tiles enlarge by 1.05, 5 x 3 by 1.31, 4 x 4 as the first with more of them; and a whole.
  EXPECT_EQ(vision.patches_of(1280, 720), (MediaPatches{13, 576, 13 * 144}));
  // 16 tiles in a row shrink least: 5,376 / 6,000.
  EXPECT_EQ(vision.patches_of(6000, 300).tiles, 17);
  EXPECT_EQ(vision.tokens_most(), 17 * 144);
}

TEST(Vision, LargerImagesNeverHaveFewerPatches) {
  for (const char* model : {"qwen3.5-27b", "kimi-k2.5", "kimi-k3", "gemma-4-31b"}) {
    std::int64_t before = 0;
    for (const std::int64_t side : {16, 100, 500, 1000, 2000, 4000, 8000}) {
      const MediaPatches image = cut(model, side, side);
      EXPECT_GE(image.all_patches(), before) << model << side;
      EXPECT_LE(image.tokens, load_model(model, {}).vision->tokens_most()) << model << side;
      before = image.all_patches();
    }
  }
}

// Two layers of four 64 x 64 projections, two products of 64 x 128, two layer norms and biases;
// 588 pixel values to 64 with a bias; 10 positions; 64 to 32.
TEST(Vision, ParametersAreThoseOfItsParts) {
  MediaEncoder vision = encoder(MediaSizing::unknown);
  vision.positions = 10;
  const std::int64_t layer = 4 * 64 * 64 + 2 * 64 * 128 + 4 * 64 + 5 * 64 + 128;
  EXPECT_EQ(vision.parameters(), 2 * layer + 588 * 64 + 64 + 640 + 64 * 32);
  vision.biases = false;
  vision.gated_mlp = true;
  vision.head_dim = 32;  // projections of 128
  EXPECT_EQ(vision.parameters(),
            2 * (4 * 64 * 128 + 3 * 64 * 128 + 4 * 64) + 588 * 64 + 640 + 64 * 32);
}

// As counted for these configurations before there was a table.
TEST(Vision, BuiltInEncodersCountAsTheirCheckpoints) {
  const auto count = [](const char* name) { return load_model(name, {}).encoder_weights(); };
  EXPECT_EQ(count("qwen3-vl-235b-a22b"), 576'388'336);
  EXPECT_EQ(count("qwen3.5-397b-a17b"), 456'010'480);
  EXPECT_EQ(count("kimi-k2.5"), 471'141'616);
  EXPECT_EQ(count("gemma-4-31b"), 575'737'344);
}

constexpr std::string_view text = R"(name = "toy"
layers = 2
hidden = 64
intermediate = 128
query_heads = 4
kv_heads = 2
head_dim = 16
vocabulary = 1000
context_max = 2048
)";

std::vector<std::string> mistakes(const std::string& vision) {
  std::vector<std::string> found;
  try {
    read_model(parse_toml(std::string(text) + "[vision]\n" + vision, "toy.toml"));
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) found.push_back(diagnostic.message);
  }
  return found;
}

TEST(Vision, TableIsReadAsItIsWritten) {
  for (const char* name : {"qwen3-vl-235b-a22b", "kimi-k3", "gemma-4-26b-a4b"}) {
    const Transformer model = load_model(name, {});
    EXPECT_TRUE(model.takes(Medium::image)) << name;
    EXPECT_EQ(read_model(parse_toml(model_toml(model), name)), model);
  }
}

TEST(Vision, MistakesAreToldTogether) {
  EXPECT_THAT(mistakes("layers = 2\nhidden = 32\nintermediate = 64\npatch = 14\n"
                       "projector = [32, 48]\nsizing = \"rounded\"\ncolour = 3\n"),
              testing::UnorderedElementsAre(
                  "vision.projector: must end in the language model's width, 64",
                  "vision.sizing: \"rounded\" needs patches_max", testing::HasSubstr("colour")));
  EXPECT_THAT(mistakes("layers = 2\nhidden = 32\nintermediate = 64\npatch = 14\n"
                       "projector = [32, 64]\nsizing = \"rounded\"\npatches_max = 100\n"),
              testing::ElementsAre("vision.sizing: has an effect only with heads and head_dim"));
  EXPECT_THAT(mistakes("layers = 10000\nhidden = 4000000\nintermediate = 4000000\npatch = 100000\n"
                       "frames = 100000\nprojector = [4000000, 64]\n"),
              testing::ElementsAre(testing::HasSubstr("parameters, more than 1e+15")));
  EXPECT_THAT(mistakes("layers = 2\nhidden = 32\nintermediate = 64\npatch = 14\nwindow = 8\n"
                       "full_layers = [2]\nprojector = [32, 64]\n"),
              testing::ElementsAre("vision.full_layers: names layer 2 of 2"));
}

/// A small text model of `architecture` with this "vision_config" and further keys.
Transformer imported(const std::string& architecture, const std::string& vision,
                     const std::string& more = "") {
  const std::string file = fmt::format(
      R"({{"architectures": ["{}"], {} "vision_config": {}, "text_config": {{
          "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
          "vocab_size": 1000, "max_position_embeddings": 4096, "sliding_window": 4096}}}})",
      architecture, more, vision);
  return import_hugging_face(parse_json(file, {"config.json"}), "m");
}

// Fields as published with gemma-3-12b-it: 64 x 64 patches, 256 tokens whatever the image.
TEST(Vision, Gemma3IsASquare) {
  const Transformer model = imported("Gemma3ForConditionalGeneration",
                                     R"({"hidden_size": 1152, "image_size": 896,
      "intermediate_size": 4304, "model_type": "siglip_vision_model", "num_attention_heads": 16,
      "num_hidden_layers": 27, "patch_size": 14})",
                                     R"("mm_tokens_per_image": 256,)");
  ASSERT_TRUE(model.takes(Medium::image));
  EXPECT_EQ(model.vision->patches_of(300, 5000), (MediaPatches{1, 4096, 256}));
  EXPECT_TRUE(model.left_out.empty());
}

// With Qwen2.5-VL-7B: gated, windows of 112 pixels (8 patches) but in four layers, 28 pixels a
// token's side.
TEST(Vision, Qwen25HasWindows) {
  const Transformer model = imported("Qwen2_5_VLForConditionalGeneration",
                                     R"({"depth": 32, "hidden_act": "silu", "hidden_size": 1280,
      "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 64, "patch_size": 14,
      "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 112,
      "fullatt_block_indexes": [7, 15, 23, 31], "model_type": "qwen2_5_vl"})");
  ASSERT_TRUE(model.takes(Medium::image));
  EXPECT_TRUE(model.vision->gated_mlp);
  EXPECT_EQ(model.vision->window, 8);
  EXPECT_THAT(model.vision->full_layers, testing::ElementsAre(7, 15, 23, 31));
  EXPECT_EQ(model.vision->patches_of(1280, 720), (MediaPatches{1, 4784, 46 * 26}));
}

// With Mistral Small 3.1: sides of at most 1,540 pixels, shrunk and padded to 28.
TEST(Vision, PixtralPads) {
  const Transformer model = imported("Mistral3ForConditionalGeneration",
                                     R"({"head_dim": 64, "hidden_size": 1024, "image_size": 1540,
      "intermediate_size": 4096, "model_type": "pixtral", "num_attention_heads": 16,
      "num_hidden_layers": 24, "patch_size": 14})",
                                     R"("spatial_merge_size": 2,)");
  ASSERT_TRUE(model.takes(Medium::image));
  EXPECT_FALSE(model.vision->biases);
  EXPECT_EQ(model.vision->patches_of(1000, 700).tokens, 36 * 25);
  EXPECT_EQ(model.vision->patches_of(3080, 1540).tokens, 55 * 28);  // halved: 770 / 28 = 27.5
}

TEST(Vision, HowAnUnknownEncoderCutsIsTold) {
  const Transformer model = imported("Gemma3ForConditionalGeneration",
                                     R"({"hidden_size": 1152, "intermediate_size": 4304,
      "num_hidden_layers": 27, "patch_size": 14})");
  EXPECT_FALSE(model.takes(Medium::image));
  EXPECT_THAT(model.left_out,
              testing::ElementsAre(testing::HasSubstr("how it turns an image into tokens")));
}

}  // namespace
}  // namespace foretoken::vision_test
