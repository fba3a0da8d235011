// Laws of audio in whole runs: none is lost, longer and more clips are never cheaper, repeated ones
// are, and encoders on GPUs of their own send what they make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/properties/forked_run.hpp"

namespace foretoken::audio_runs_test {
namespace {

constexpr const char* spoken = R"(
[model]
name = "qwen3-omni-30b-a3b"
[cluster]
name = "h200-sxm-1"
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 120
prompt_tokens = { distribution = "lognormal", mean = 200, p99 = 800, max = 1000 }
output_tokens = { distribution = "lognormal", mean = 30, p99 = 90, max = 100 }
[workload.audio]
count = 2
duration = "20 s"
[predictor]
name = "roofline"
)";

Report run(const std::vector<std::string>& overrides, const char* text = spoken) {
  return run_scenario(scenario_from(text, overrides), Catalogs(), RunOptions());
}

double ttft(const std::vector<std::string>& overrides) {
  return in_child([&] {
           const Report report = run(overrides);
           FORETOKEN_CHECK(report.requests.completed == 120, "some are lost");
           return report.ttft_ms.mean;
         })
      .value_or(-1);
}

TEST(AudioProperties, EveryClipIsEncodedOnce) {
  const Report report = run({});
  ASSERT_TRUE(report.audio);
  EXPECT_FALSE(report.images);
  EXPECT_EQ(report.audio->reached, 240);
  EXPECT_EQ(report.audio->tokens_mean, 260);
  EXPECT_EQ(report.audio->cache_hit_rate, 0);
  EXPECT_GT(report.audio->encoder_s, 0);
}

TEST(AudioProperties, MoreSecondsAreNeverCheaper) {
  double before = ttft({"workload.audio.count=1", "workload.audio.duration=1 s"});
  for (const char* duration : {"5 s", "20 s", "60 s", "300 s"}) {
    const double longer =
        ttft({"workload.audio.count=1", std::string("workload.audio.duration=") + duration});
    EXPECT_GT(longer, before) << duration;
    before = longer;
  }
  EXPECT_GT(ttft({}), ttft({"workload.audio.count=1"}));
  EXPECT_GT(ttft({}), ttft({"workload.audio.repeated=1", "workload.audio.different=4"}));
}

// Beside images each has figures of its own, and they share the encoder's time.
TEST(AudioProperties, StandsBesideImages) {
  const Report report = run({"workload.images={count=1,width=1024,height=768}"});
  ASSERT_TRUE(report.audio && report.images);
  EXPECT_EQ(report.audio->reached, 240);
  EXPECT_EQ(report.images->reached, 120);
  EXPECT_EQ(report.images->tokens_mean, 768);
  double encoding = 0;
  for (const NamedSeconds& family : report.time_by) {
    if (family.name.ends_with("encoder")) encoding += family.seconds;
  }
  EXPECT_NEAR(encoding, report.audio->encoder_s + report.images->encoder_s, 1e-6);
}

// 240 clips of 260 tokens, 2,048 values of 2 B each, to one rank.
TEST(AudioProperties, PoolsThatEncodeSendClips) {
  const Report report =
      run({"cluster.name=h200-sxm-2", "pool.encode.role=encode", "pool.serve.role=both"});
  ASSERT_TRUE(report.audio);
  EXPECT_EQ(report.requests.completed, 120);
  EXPECT_EQ(report.audio->reached, 240);
  EXPECT_EQ(report.audio->sent_bytes, 240.0 * 260 * 2048 * 2);
}

// Of each what it is: three of the image encoder's layers join the language model's, too, four
// values for one.
TEST(AudioProperties, WhatIsSentIsToldByMedium) {
  const Report report =
      run({"cluster.name=h200-sxm-2", "pool.encode.role=encode", "pool.serve.role=both",
           "workload.images={count=1,width=1024,height=768}"});
  ASSERT_TRUE(report.audio && report.images);
  EXPECT_EQ(report.audio->sent_bytes, 240.0 * 260 * 2048 * 2);
  EXPECT_EQ(report.images->sent_bytes, 120.0 * 768 * 2048 * 4 * 2);
}

}  // namespace
}  // namespace foretoken::audio_runs_test
