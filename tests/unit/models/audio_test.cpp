// Encoders of audio: imports, tokens of clips, parameters by hand, and the [audio] table.
#include <gmock/gmock.h>

#include "models/transformer.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::audio_test {
namespace {

/// A config with an encoder of audio beside a language model of `width`.
Transformer imported(const char* architecture, int width, const std::string& audio) {
  const bool is_gemma = std::string_view(architecture).starts_with("Gemma");
  const std::string text = fmt::format(
      R"("hidden_size": {}, "intermediate_size": 8192, "num_hidden_layers": 2,
        "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 1000,
        "max_position_embeddings": 8192{})",
      width,
      is_gemma ? R"(, "sliding_window": 512, "layer_types": ["full_attention", "full_attention"])"
               : "");
  const std::string json =
      fmt::format(R"({{"architectures": ["{}"], "text_config": {{{}}}, "audio_config": {{{}}}}})",
                  architecture, text, audio);
  return import_hugging_face(parse_json(json, {"config.json"}), "toy");
}

Transformer qwen2_audio() {
  return imported("Qwen2AudioForConditionalGeneration", 4096,
                  R"("model_type": "qwen2_audio_encoder", "d_model": 1280, "encoder_layers": 32,
    "encoder_attention_heads": 20, "encoder_ffn_dim": 5120, "num_mel_bins": 128)");
}

Transformer qwen3_omni() { return load_model("qwen3-omni-30b-a3b", {}); }

// 20 ms a position, 1,500 of 30 s whatever there is, two a token; what is longer is cut off.
TEST(Audio, WhispersEncoderAlwaysSeesThirtySeconds) {
  const MediaEncoder audio = *qwen2_audio().audio;
  EXPECT_EQ(audio.patches_of_clip(10'000), (MediaPatches{1, 1500, 250, Medium::audio}));
  EXPECT_EQ(audio.patches_of_clip(30'000), (MediaPatches{1, 1500, 750, Medium::audio}));
  EXPECT_EQ(audio.patches_of_clip(95'000), (MediaPatches{1, 1500, 750, Medium::audio}));
  EXPECT_EQ(audio.patches_of_clip(1), (MediaPatches{1, 1500, 1, Medium::audio}));
  EXPECT_EQ(audio.tokens_most(), 750);
}

// Its checkpoint by hand; a Whisper large-v3 encoder has 636,968,960.
TEST(Audio, WhispersParametersAreThoseOfItsTensors) {
  const std::int64_t d = 1280, inner = 5120;
  const std::int64_t attention = 4 * d * d + 3 * d;  // keys have no bias
  const std::int64_t mlp = 2 * d * inner + inner + d;
  const std::int64_t front = d * (3 * 128 + 1) + d * (3 * d + 1), positions = 1500 * d;
  const std::int64_t encoder = 32 * (attention + mlp + 4 * d) + front + positions + 2 * d;
  EXPECT_EQ(encoder, 636'968'960);
  EXPECT_EQ(qwen2_audio().audio->parameters(), encoder + 4096 * (d + 1));
  EXPECT_EQ(qwen2_audio().encoder_weights(), encoder + 4096 * (d + 1));
}

// Four positions a token, 375 for each 30 s begun, padding too.
TEST(Audio, VoxtralPaysForThePadding) {
  const Transformer model = imported("VoxtralForConditionalGeneration", 3072,
                                     R"("model_type": "voxtral_encoder", "hidden_size": 1280,
    "num_hidden_layers": 32, "num_attention_heads": 20, "intermediate_size": 5120)");
  EXPECT_EQ(model.audio->patches_of_clip(1000), (MediaPatches{1, 1500, 375, Medium::audio}));
  EXPECT_EQ(model.audio->patches_of_clip(30'001), (MediaPatches{2, 1500, 750, Medium::audio}));
  EXPECT_EQ(model.audio->projector, (std::vector<std::int64_t>{5120, 3072, 3072}));
  EXPECT_EQ(model.audio->parameters(), 636'968'960 + 5120 * 3072 + 3072 * 3072);
}

// 100 frames are 50, 25, 13 after three halvings; what is left over has one for each 80 ms.
TEST(Audio, Qwen3OmniHasThirteenTokensASecond) {
  const MediaEncoder audio = *qwen3_omni().audio;
  EXPECT_EQ(audio.patches_of_clip(10'000), (MediaPatches{1, 130, 130, Medium::audio}));
  EXPECT_EQ(audio.patches_of_clip(10'081).tokens, 132);
  EXPECT_EQ(audio.patches_of_clip(999).tokens, 13);
  EXPECT_EQ(audio.window, 8 * 13);
  const std::int64_t d = 1280, c = 480;
  EXPECT_EQ(audio.parameters(), 32 * (4 * d * d + 4 * d + 2 * d * 5120 + 5120 + d + 4 * d) +
                                    c * 10 + 2 * c * (9 * c + 1) + 16 * c * d + d * (d + 1) +
                                    2048 * (d + 1) + 2 * d);
}

// 200 frames are 100 positions, which see each other, and 50 tokens; the talker is left out.
TEST(Audio, Qwen25OmniListensInPiecesOfTwoSeconds) {
  const std::string thinker = R"({"text_config": {"hidden_size": 3584, "intermediate_size": 18944,
    "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
    "vocab_size": 152064, "max_position_embeddings": 32768},
    "audio_config": {"model_type": "qwen2_5_omni_audio_encoder", "n_window": 100}})";
  const Transformer model = import_hugging_face(
      parse_json(R"({"architectures": ["Qwen2_5OmniModel"], "talker_config": {"hidden_size": 896},
        "thinker_config": )" +
                     thinker + "}",
                 {"config.json"}),
      "toy");
  EXPECT_EQ(model.audio->patches_of_clip(10'000), (MediaPatches{1, 500, 250, Medium::audio}));
  EXPECT_EQ(model.audio->patches_of_clip(100).tokens, 2);  // 5 positions
  EXPECT_EQ(model.audio->window, 100);
  EXPECT_THAT(model.left_out, testing::ElementsAre(testing::HasSubstr("talker")));
}

// 40 ms a token, 30 s at most. By hand: q, k, v, o and positions' keys, two MLPs of four times the
// width, a gated convolution over 5, nine norms and a scale for each of a head's values.
TEST(Audio, GemmaIsAConformer) {
  const MediaEncoder audio =
      *imported("Gemma4ForConditionalGeneration", 1536, R"("model_type": "gemma4_audio")").audio;
  EXPECT_EQ(audio.patches_of_clip(10'000), (MediaPatches{1, 250, 250, Medium::audio}));
  EXPECT_EQ(audio.patches_of_clip(60'000).tokens, 750);
  const std::int64_t d = 1024;
  const std::int64_t layer = 5 * d * d + 2 * 8 * d * d + 3 * d * d + 5 * d + 9 * d + 128;
  EXPECT_EQ(audio.parameters(),
            12 * layer + 9 * 128 + 9 * 128 * 32 + 32 * 32 * d + d * 1536 + 1536 * 1536);
}

TEST(Audio, OthersAreLeftOutAndSaidToBe) {
  const Transformer model =
      imported("Gemma4ForConditionalGeneration", 1536, R"("model_type": "unheard_of")");
  EXPECT_FALSE(model.audio);
  EXPECT_THAT(model.left_out,
              testing::Contains(testing::HasSubstr("its encoder (unheard_of) is counted")));
}

TEST(Audio, LongerClipsNeverHaveLess) {
  for (const MediaEncoder& audio : {*qwen2_audio().audio, *qwen3_omni().audio}) {
    MediaPatches before{0, 0, 0, Medium::audio};
    for (std::int64_t ms = 1; ms < 70'000; ms += 7) {
      const MediaPatches clip = audio.patches_of_clip(ms);
      ASSERT_GE(clip.tokens, before.tokens) << ms;
      ASSERT_GE(clip.all_patches(), before.all_patches()) << ms;
      before = clip;
    }
  }
}

TEST(Audio, IsWrittenAndReadBack) {
  for (const Transformer& model : {qwen2_audio(), qwen3_omni()}) {
    EXPECT_EQ(read_model(parse_toml(model_toml(model), "m.toml")), model);
  }
}

TEST(Audio, MistakesOfTheTableAreTold) {
  std::string text = model_toml(qwen2_audio());
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    try {
      read_model(parse_toml(changed, "m.toml"));
    } catch (const ConfigError& error) {
      return error.diagnostics().front().message;
    }
    return std::string("no mistake");
  };
  EXPECT_THAT(error("sizing = \"pieces\"", "sizing = \"square\""),
              testing::HasSubstr("must be stream, pieces or padded_pieces"));
  EXPECT_THAT(error("piece_ms = 30000", "piece_ms = 0"), testing::HasSubstr("audio.piece_ms"));
  EXPECT_THAT(error("front = [", "fronts = ["), testing::HasSubstr("audio.front: must list"));
}

}  // namespace
}  // namespace foretoken::audio_test
