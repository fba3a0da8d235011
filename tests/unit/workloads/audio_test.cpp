// Audio of requests: clips behind text and images, in traces, mistakes, and the work of encoding
// them, by hand.
#include <gmock/gmock.h>

#include "kernels/kernel_work.hpp"
#include "models/transformer.hpp"
#include "tests/unit/workloads/generator_fixture.hpp"
#include "tests/unit/workloads/requests_fixture.hpp"
#include "workloads/encoder_kernels.hpp"

namespace foretoken::audio_traffic_test {
namespace {

constexpr const char* traffic = R"(arrivals = "interval"
rate = "1 /s"
requests = 4000
prompt_tokens = { distribution = "uniform", min = 1, max = 900 }
output_tokens = 5
)";

WorkloadOptions options() {
  const Transformer model = load_model("qwen3-omni-30b-a3b", {});
  WorkloadOptions options;
  options.vision = model.vision;
  options.audio = model.audio;
  return options;
}

std::vector<Request> with(const std::string& media) {
  return requests(std::string(traffic) + media + "\n", options());
}

// 10 s are 130 tokens; an image of 1280 x 720 is 880.
TEST(AudioTraffic, ClipsStandBehindTextAndImages) {
  const auto plain = requests(traffic, options());
  const auto all = with(
      "images = { count = 1, width = 1280, height = 720 }\naudio = { count = 2, duration = \"10 "
      "s\" "
      "}");
  ASSERT_EQ(all.size(), plain.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t text = plain[i].prompt_tokens;
    ASSERT_EQ(all[i].media.size(), 3U);
    ASSERT_EQ(all[i].media[0].patches.medium, Medium::image);
    ASSERT_EQ(all[i].media[1].first_token, text + 880);
    ASSERT_EQ(all[i].media[1].patches, (MediaPatches{1, 130, 130, Medium::audio}));
    ASSERT_EQ(all[i].prompt_tokens, text + 880 + 260);
    ASSERT_NE(all[i].media[1].identity, all[i].media[0].identity);
  }
  EXPECT_EQ(arrivals(all), arrivals(plain));
  EXPECT_EQ(outputs(all), outputs(plain));
}

// Adding clips changes no image.
TEST(AudioTraffic, LeavesImagesAsTheyWere) {
  const std::string images =
      "images = { count = 1, width = { distribution = \"uniform\", min = 100, max = 4000 }, height "
      "= "
      "700, repeated = 0.5 }\n";
  const auto without = with(images),
             both = with(images + "audio = { count = 1, duration = \"3 s\" }");
  for (std::size_t i = 0; i < both.size(); ++i)
    ASSERT_EQ(both[i].media[0].patches, without[i].media[0].patches);
}

// Of 4,000 draws with p = 1/4 the standard deviation is 27.
TEST(AudioTraffic, OfAShareOfTheRequestsSomeSentAgain) {
  const auto all = with(
      "audio = { count = 1, duration = { distribution = \"uniform\", min = \"1 s\", max = \"9 s\" "
      "}, "
      "share = 0.25, repeated = 1, different = 3 }");
  std::map<std::uint64_t, std::set<std::int64_t>> tokens;
  std::int64_t count = 0;
  for (const Request& request : all) {
    count += std::ssize(request.media);
    for (const MediaItem& clip : request.media) tokens[clip.identity].insert(clip.patches.tokens);
  }
  EXPECT_NEAR(static_cast<double>(count), 1000, 140);
  EXPECT_EQ(tokens.size(), 3U);
  for (const auto& [identity, lengths] : tokens) EXPECT_EQ(lengths.size(), 1U);
}

TEST(AudioTraffic, MistakesAreTold) {
  const auto errors = [](const std::string& audio, const WorkloadOptions& given) {
    return read(std::string(traffic) + audio + "\n", given).errors;
  };
  EXPECT_THAT(errors("audio = { count = 1, duration = \"1 s\" }", {}),
              testing::HasSubstr("workload.audio: the model takes no audio"));
  EXPECT_THAT(errors("audio = { count = 1 }", options()),
              testing::HasSubstr("workload.audio.duration: is missing"));
  EXPECT_THAT(errors("audio = { duration = \"1 s\" }", options()),
              testing::HasSubstr("workload.audio.count: is missing"));
}

class AudioTraces : public TemporaryFolder {
 protected:
  std::vector<Request> play(const std::string& media) {
    return requests("trace = \"" + write("t.jsonl", line(media)).string() + "\"\n", options());
  }
  std::string error(const std::string& media) {
    return read("trace = \"" + write("t.jsonl", line(media)).string() + "\"\n", options()).errors;
  }
  static std::string line(const std::string& media) {
    return R"({"arrival_s":1,"prompt_tokens":1300,"output_tokens":3,)" + media + "}\n";
  }
};

// The clip was 250 tokens where it was recorded and is 130 here: what is behind moves.
TEST_F(AudioTraces, ClipsAreCutAsTheModelCutsThem) {
  const auto all =
      play(R"("audio":[{"id":7,"first_token":100,"tokens":250,"seconds":10}],)"
           R"("images":[{"id":7,"first_token":360,"tokens":880,"width":1280,"height":720}])");
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].media.size(), 2U);
  EXPECT_EQ(all[0].media[0].patches.tokens, 130);
  EXPECT_EQ(all[0].media[1].first_token, 240);
  EXPECT_EQ(all[0].prompt_tokens, 1180);
  EXPECT_NE(all[0].media[0].identity, all[0].media[1].identity);
}

TEST_F(AudioTraces, MistakesAreTold) {
  EXPECT_THAT(error(R"("audio":[{"id":7,"first_token":100,"tokens":250,"seconds":0}])"),
              testing::HasSubstr("audio: \"seconds\" must be a number above 0"));
  EXPECT_THAT(error(R"("audio":[{"id":7,"first_token":100,"tokens":250,"seconds":5}],)"
                    R"("images":[{"id":7,"first_token":349,"tokens":8,"width":1,"height":1}])"),
              testing::HasSubstr("audio: a clip lies within an image"));
}

/// Whisper large's encoder with Qwen2-Audio's projector.
MediaEncoder whisper() {
  MediaEncoder audio;
  audio.medium = Medium::audio;
  audio.layers = 32;
  audio.hidden = 1280;
  audio.intermediate = 5120;
  audio.heads = 20;
  audio.head_dim = 64;
  audio.key_bias = false;
  audio.front = {{2, 384, 1280}, {1, 3840, 1280}};
  audio.positions = audio.piece_patches = 1500;
  audio.patch_ms = 20;
  audio.piece_ms = 30'000;
  audio.merge = 2;
  audio.projector = {1280, 4096};
  audio.projector_norm = audio.projector_bias = true;
  audio.sizing = MediaSizing::pieces;
  return audio;
}

double tensor_flops(const KernelSequence& kernels) {
  double sum = 0;
  for (const KernelCall& call : kernels) sum += call.calls * kernel_work(call.kernel).tensor_flops;
  return sum;
}

// 40 s: two pieces of 1,500 positions, 2,000 of them the clip's, 1,000 tokens. A product of m x n x
// k takes 2 m n k; attention's two take 4 x 1,500^2 x 1,280 a piece and layer.
TEST(AudioKernels, WorkOfWhispersEncoderByHand) {
  const MediaEncoder audio = whisper();
  const MediaPatches clip = audio.patches_of_clip(40'000);
  EXPECT_EQ(clip, (MediaPatches{2, 1500, 1000, Medium::audio}));
  const double m = 3000, d = 1280, inner = 5120;
  const double front = 2 * (2 * m) * d * 384 + 2 * m * d * 3840;
  const double layer =
      2 * m * (3 * d) * d + 2 * m * d * d + 4 * m * d * inner + 2 * 4 * 1500.0 * 1500 * d;
  const double projector = 2 * 1000 * 4096 * d;
  EXPECT_NEAR(tensor_flops(encoder_kernels(audio, {}, {}, {{clip}})),
              front + 32 * layer + projector, 1e6);
}

TEST(AudioKernels, AreThoseOfConvolutionsAndLayersWithoutRope) {
  EXPECT_THAT(
      roles(encoder_kernels(whisper(), {}, {}, {{whisper().patches_of_clip(1000)}})),
      testing::ElementsAre("encoder_convolution x1", "encoder_convolution_activation x1",
                           "encoder_convolution x1", "encoder_convolution_activation x1",
                           "encoder_norm x64", "encoder_qkv_proj x32", "encoder_attention x32",
                           "encoder_o_proj x32", "encoder_up_proj x32", "encoder_activation x32",
                           "encoder_down_proj x32", "projector_norm x1", "projector_proj x1"));
}

// Two MLPs, and to twice the width and back around the convolution.
TEST(AudioKernels, ConformersHaveTwoMlpsAndAConvolution) {
  MediaEncoder conformer = whisper();
  conformer.convolution = 5;
  const auto clip = conformer.patches_of_clip(1000);
  const double more = tensor_flops(encoder_kernels(conformer, {}, {}, {{clip}})) -
                      tensor_flops(encoder_kernels(whisper(), {}, {}, {{clip}}));
  EXPECT_NEAR(more, 32 * (4 * 1500.0 * 1280 * 5120 + 2 * 1500.0 * 1280 * 3 * 1280), 1e6);
}

}  // namespace
}  // namespace foretoken::audio_traffic_test
