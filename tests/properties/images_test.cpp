// Laws of images in whole runs: nobody is lost however small the encoder cache, more and larger
// images are never cheaper, repeated ones are, and none is encoded twice while it is kept.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/properties/forked_run.hpp"

namespace foretoken::images_test {
namespace {

constexpr const char* many = R"(
[model]
name = "qwen3.5-27b"
[cluster]
name = "h200-sxm-1"
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 120
prompt_tokens = { distribution = "lognormal", mean = 200, p99 = 800, max = 1000 }
output_tokens = { distribution = "lognormal", mean = 30, p99 = 90, max = 100 }
[workload.images]
count = 2
width = 1024
height = 768
[predictor]
name = "roofline"
)";

Report run(const std::vector<std::string>& overrides, StepObserver* observer = nullptr,
           const std::string& text = many) {
  RunOptions options;
  options.observer = observer;
  return run_scenario(scenario_from(text.c_str(), overrides), Catalogs(), options);
}

/// In a child: a process can simulate once.
double ttft(const std::vector<std::string>& overrides) {
  return in_child([&] {
           const Report report = run(overrides);
           FORETOKEN_CHECK(report.requests.completed == 120, "some are lost");
           return report.ttft_ms.mean;
         })
      .value_or(-1);
}

/// What steps encoded, and that none takes more than its budget.
class EncodedImages final : public StepObserver {
 public:
  void on_step(ReplicaId, int stage, Seconds, Seconds, const Batch& batch) override {
    if (stage > 0) return;
    std::int64_t tokens = 0;
    for (const MediaPatches& image : batch.media) tokens += image.tokens;
    images += std::ssize(batch.media);
    most = std::max(most, tokens);
    for (const BatchEntry& entry : batch.entries) {
      // Whatever is computed of an image's tokens, its image is held then.
      for (const SequenceItem& image : entry.sequence->media) {
        const bool is_touched =
            image.first_token < entry.context_tokens && image.end() > entry.context_tokens;
        if (is_touched) {
          EXPECT_TRUE(image.is_held);
        }
      }
    }
  }
  std::int64_t images = 0, most = 0;
};

// 1024 x 768 pixels: 32 x 24 tokens.
TEST(ImageProperties, EachIsEncodedOnce) {
  EncodedImages seen;
  const Report report = run({}, &seen);
  EXPECT_EQ(report.requests.completed, 120);
  EXPECT_EQ(seen.images, 240);
  EXPECT_LE(seen.most, 16'384);
  ASSERT_TRUE(report.images);
  EXPECT_EQ(report.images->reached, 240);
  EXPECT_EQ(report.images->tokens_mean, 768);
  EXPECT_EQ(report.images->cache_hit_rate, 0);
  EXPECT_GT(report.images->encoder_s, 0);
}

TEST(ImageProperties, OneImageForAllIsEncodedOnceWhileItIsKept) {
  EncodedImages seen;
  const Report report = run({"workload.images.repeated=1", "workload.images.different=1"}, &seen);
  EXPECT_EQ(seen.images, 1);
  EXPECT_NEAR(report.images->cache_hit_rate, 239.0 / 240.0, 1e-9);
}

// Blocks for two prompts: sequences are preempted and begin again, images and all.
TEST(ImageProperties, NobodyIsLostWhereMemoryIsShort) {
  EncodedImages seen;
  const Report report = run({"engine.kv_blocks=700", "workload.rate='40 /s'",
                             "workload.images.count=4", "engine.encoder.cache_tokens=1"},
                            &seen);
  EXPECT_EQ(report.requests.completed, 120);
  EXPECT_GE(seen.images, 480);
}

TEST(ImageProperties, MoreAndLargerImagesAreNeverCheaper) {
  const double one = ttft({"workload.images.count=1"}), two = ttft({}),
               larger = ttft({"workload.images.width=2048"});
  EXPECT_GT(one, 0);
  EXPECT_GT(two, one);
  EXPECT_GT(larger, two);
}

TEST(ImageProperties, RepeatedImagesAreCheaper) {
  const double fresh = ttft({}), half = ttft({"workload.images.repeated=0.5"}),
               all = ttft({"workload.images.repeated=1", "workload.images.different=4"});
  EXPECT_LT(half, fresh);
  EXPECT_LT(all, half);
}

const std::vector<const char*> other_engines = {"sglang", "tensorrt-llm"};

std::vector<std::string> under(const char* engine, std::vector<std::string> more = {}) {
  more.push_back(std::string("engine.preset=") + engine);
  return more;
}

// A prompt's pieces of 512 tokens are three; the images come with the first.
TEST(ImageProperties, OtherEnginesEncodeThemWithTheFirstPiece) {
  for (const char* engine : other_engines) {
    const double images = in_child([&] {
                            EncodedImages seen;
                            const Report report = run(under(engine), &seen);
                            FORETOKEN_CHECK(report.requests.completed == 120, "some are lost");
                            return static_cast<double>(seen.images);
                          }).value_or(-1);
    EXPECT_EQ(images, 240) << engine;
    const double one = ttft(under(engine, {"workload.images.count=1"}));
    const double two = ttft(under(engine));
    const double larger = ttft(under(engine, {"workload.images.width=2048"}));
    EXPECT_GT(one, 0);
    EXPECT_GT(two, one) << engine;
    EXPECT_GT(larger, two) << engine;
  }
}

// 100 MiB hold 10,240 tokens of 5,120 values; a request's pair has 1,536 of them.
TEST(ImageProperties, SglangFindsRequestsWithTheSameImages) {
  const auto encoded = [](const char* engine) {
    return in_child([&] {
             EncodedImages seen;
             (void)run(under(engine, {"workload.images.repeated=1", "workload.images.different=1"}),
                       &seen);
             return static_cast<double>(seen.images);
           })
        .value_or(-1);
  };
  EXPECT_EQ(encoded("sglang"), 2);
  EXPECT_EQ(encoded("tensorrt-llm"), 240);
}

// What never has room is encoded for each piece of a prompt again.
TEST(ImageProperties, SglangsCacheIsWorthItsRoom) {
  const auto reached = [](const char* cache_tokens) {
    return in_child([&] {
             const Report report = run(under("sglang", {"engine.chunk_tokens=512", cache_tokens}));
             FORETOKEN_CHECK(report.requests.completed == 120, "some are lost");
             return static_cast<double>(report.images->reached);
           })
        .value_or(-1);
  };
  EXPECT_EQ(reached("engine.encoder.cache_tokens=100000"), 240);
  EXPECT_GT(reached("engine.encoder.cache_tokens=1000"), 3 * 240);
}

// Three turns with an image each, 40 times: vLLM asks for those alone that are not in the KV cache;
// others encode all of a request's once one of them is not.
TEST(ImageProperties, ConversationsKeepTheirImagesInTheKvCache) {
  const auto of_turns = [](const char* engine, const char* caches,
                           const std::function<std::int64_t(const Report&)>& figure) {
    return in_child([&] {
             const Report report = run(under(
                 engine, {"workload.sessions={turns=3,think_time='2 s'}", "workload.images.count=1",
                          "workload.rate='1 /s'", std::string("engine.prefix_caching=") + caches}));
             FORETOKEN_CHECK(report.requests.completed == 120, "some are lost");
             return static_cast<double>(figure(report));
           })
        .value_or(-1);
  };
  const auto reached = [](const Report& report) { return report.images->reached; };
  EXPECT_EQ(of_turns("vllm-v1", "false", reached), 40 * (1 + 2 + 3));
  EXPECT_GE(of_turns("vllm-v1", "true", reached), 120);
  EXPECT_LE(of_turns("vllm-v1", "true", reached), 130);  // few end within a block
  for (const char* engine : other_engines)
    EXPECT_EQ(of_turns(engine, "true", reached), 40 * (1 + 2 + 3)) << engine;
}

/// The same requests where images are encoded on a GPU of their own, before one that computes
/// prompts and one that decodes.
std::string apart() {
  std::string text = many;
  text.replace(text.find("h200-sxm-1"), 10, "h200-sxm-4");
  return text + R"(
[pool.encode]
role = "encode"
[pool.prefill]
role = "prefill"
[pool.decode]
role = "decode"
)";
}

/// Which roles' steps encode: by whether they have anything else to do.
class EncodingSteps final : public StepObserver {
 public:
  void on_step(ReplicaId, int, Seconds, Seconds, const Batch& batch) override {
    if (batch.media.empty()) return;
    images += std::ssize(batch.media);
    EXPECT_EQ(batch.shape.tokens, 0);  // no token of a prompt beside them
  }
  void on_media_arrived(ReplicaId, Seconds, RequestId) override { ++arrivals; }
  std::int64_t images = 0, arrivals = 0;
};

TEST(ImageProperties, APoolOfItsOwnEncodesEachOnce) {
  EncodingSteps seen;
  const Report report = run({}, &seen, apart());
  EXPECT_EQ(report.requests.completed, 120);
  EXPECT_EQ(seen.images, 240);
  EXPECT_EQ(seen.arrivals, 120);
  ASSERT_TRUE(report.images);
  EXPECT_EQ(report.images->reached, 240);
  // 240 images of 768 tokens, 5,120 values of 2 B each, to one rank.
  EXPECT_EQ(report.images->sent_bytes, 240.0 * 768 * 5120 * 2);
  EXPECT_EQ(report.pools.size(), 3U);
}

// Each of the ranks that compute prompts fetches all.
TEST(ImageProperties, EveryRankFetchesTheImages) {
  const Report report = run({"pool.prefill.tensor_parallel=2"}, nullptr, apart());
  EXPECT_EQ(report.requests.completed, 120);
  EXPECT_EQ(report.images->sent_bytes, 2 * 240.0 * 768 * 5120 * 2);
}

// Prompts that the decode replica computes itself want their images there.
TEST(ImageProperties, ImagesOfLocalPromptsTravelToWhoDecodes) {
  EncodingSteps seen;
  const Report report = run({"deployment.local_prefill_max=100000"}, &seen, apart());
  EXPECT_EQ(report.requests.completed, 120);
  EXPECT_EQ(report.kv_transfers->count, 0);
  EXPECT_EQ(seen.images, 240);
  EXPECT_EQ(seen.arrivals, 120);
  EXPECT_EQ(report.images->sent_bytes, 240.0 * 768 * 5120 * 2);
}

TEST(ImageProperties, NobodyIsLostWhereAnEncoderFailsAndClientsLeave) {
  std::string text = apart();
  text += R"(
[[failures]]
pool = "encode"
replica = 0
at = "4 s"
recovers_after = "3 s"
[front_end]
attempts_max = 3
)";
  const Report report = run({"workload.timeout='6 s'"}, nullptr, text);
  const Report::Requests& ends = report.requests;
  EXPECT_EQ(ends.arrived, 120);
  EXPECT_EQ(ends.completed + ends.failed + ends.timed_out, 120);
  EXPECT_GT(ends.completed, 60);
}

}  // namespace
}  // namespace foretoken::images_test
