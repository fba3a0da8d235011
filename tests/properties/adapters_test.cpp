// Laws of adapters (LoRA) in whole runs: never more in a step than there are slots, each loaded
// once where all fit, nobody starves, and what is nobody's adapter costs nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/properties/forked_run.hpp"

namespace foretoken::adapters_test {
namespace {

constexpr const char* many = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[engine]
lora = { adapters_max = 4, rank = 16 }
[workload]
arrivals = "poisson"
rate = "60 /s"
requests = 300
prompt_tokens = { distribution = "lognormal", mean = 200, p99 = 800, max = 1000 }
output_tokens = { distribution = "lognormal", mean = 60, p99 = 200, max = 300 }
adapters = { count = 16, share = 0.9, skew = 0.5 }
[predictor]
name = "roofline"
)";

Report run(const std::vector<std::string>& overrides, StepObserver* observer = nullptr) {
  RunOptions options;
  options.observer = observer;
  return run_scenario(scenario_from(many, overrides), Catalogs(), options);
}

TEST(AdapterProperties, NoStepHasMoreThanThereAreSlots) {
  StepRecorder recorder;
  const Report report = run({}, &recorder);
  EXPECT_EQ(report.requests.completed, 300);
  std::int64_t most = 0;
  for (const StepRecorder::Step& step : recorder.steps) {
    most = std::max(most, step.shape.adapters);
    EXPECT_LE(step.shape.adapted_tokens, step.shape.tokens);
    EXPECT_EQ(step.shape.adapters == 0, step.shape.adapted_tokens == 0);
  }
  EXPECT_EQ(most, 4);
  ASSERT_TRUE(report.adapters);
  EXPECT_GT(report.adapters->loads, 16);
  EXPECT_GT(report.adapters->wait_s, 0);
}

TEST(AdapterProperties, EachIsLoadedOnceWhereAllFit) {
  const Report report = run({"engine.lora.adapters_max=16"});
  EXPECT_EQ(report.adapters->loads, 16);
  EXPECT_EQ(report.adapters->from_disk, 16);
}

TEST(AdapterProperties, TheHostSparesTheDisk) {
  const Report report = run({"engine.lora.host_adapters=16"});
  EXPECT_EQ(report.adapters->from_disk, 16);
  EXPECT_GT(report.adapters->loads, 16);
}

// One slot serves them all, one adapter at a time.
TEST(AdapterProperties, NobodyStarves) {
  EXPECT_EQ(run({"engine.lora.adapters_max=1"}).requests.completed, 300);
}

/// When the last answer ends, in s; the child's run is the same but for its adapters.
double last_end(const Report& report) {
  double last = 0;
  for (const RequestRow& row : report.rows) last = std::max(last, row.ended_s);
  return last;
}

TEST(AdapterProperties, NobodysAdaptersCostNoTime) {
  std::string text = many;
  const std::string traffic = "adapters = { count = 16, share = 0.9, skew = 0.5 }\n";
  text.erase(text.find(traffic), traffic.size());
  const auto with = in_child(
      [&] { return last_end(run_scenario(scenario_from(text), Catalogs(), RunOptions())); });
  const std::string engine = "[engine]\nlora = { adapters_max = 4, rank = 16 }\n";
  text.erase(text.find(engine), engine.size());
  EXPECT_EQ(with, last_end(run_scenario(scenario_from(text), Catalogs(), RunOptions())));
}

}  // namespace
}  // namespace foretoken::adapters_test
