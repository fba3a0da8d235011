// [autoscaler] by policy: which keys each has, and what is told of mistakes.

#include <gmock/gmock.h>

#include "tests/unit/scenario/scenario_text.hpp"

namespace foretoken::autoscaler_test {
namespace {

using scenario_text::error_of;
using scenario_text::minimal;
using scenario_text::read;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string with(const std::string& keys) {
  return std::string(minimal) + "[autoscaler]\nmax = 4\n" + keys;
}

TEST(AutoscalerTable, EveryPolicyReadsBackToItself) {
  for (const char* keys :
       {"metric = \"queue\"\ntarget = 2.0\ncooldown_up = \"1 s\"\n",
        "policy = \"hpa\"\nmetric = \"queue\"\ntarget = 2.0\nwindow_down = \"60 s\"\n"
        "down = [{ replicas = 1, period = \"60 s\" }, { percent = 20.0 }]\n",
        "policy = \"keda\"\nmin = 0\nmetric = \"queue\"\ntarget = 2.0\ncooldown = \"9 s\"\n",
        "policy = \"planner\"\ncapacity = \"900 /s\"\nprediction = \"trend\"\nhistory = 9\n",
        "policy = \"wva\"\n",
        "policy = \"wva\"\nmin = 0\ncost = 3.5\nretention = \"10 min\"\nwindow_up = \"0 s\"\n"
        "up = [{ replicas = 2, period = \"60 s\" }]\nscale_down_boundary = 0.5\n",
        "policy = \"wva\"\nanalyzer = \"shares\"\nkv_spare_trigger = 0.2\n"}) {
    const Scenario scenario = read(with(keys));
    const std::string text = to_toml(resolved_scenario(scenario));
    EXPECT_EQ(to_toml(resolved_scenario(read(text))), text) << keys;
  }
  const Scenario hpa = read(with("policy = \"hpa\"\nmetric = \"kv\"\ntarget = 0.5\n"));
  EXPECT_EQ(hpa.autoscaler->up.size(), 2U);
  EXPECT_EQ(hpa.autoscaler->window_down, Seconds(300.0));
  const Scenario wva = read(with("policy = \"wva\"\n"));  // the pace of llm-d's guide
  EXPECT_EQ(wva.autoscaler->window_up, Seconds(120.0));
  EXPECT_EQ(wva.autoscaler->window_down, Seconds(120.0));
  EXPECT_EQ(wva.autoscaler->up.size(), 1U);
}

TEST(AutoscalerTable, MistakesAreTold) {
  EXPECT_THAT(error_of(with("")), HasSubstr("[autoscaler] lacks 'metric'"));
  EXPECT_THAT(error_of(with("policy = \"planner\"\n")), HasSubstr("[autoscaler] lacks 'capacity'"));
  EXPECT_THAT(error_of(with("policy = \"hpa\"\nmetric = \"queue\"\ntarget = 2.0\n"
                            "cooldown_up = \"1 s\"\n")),
              EndsWith("autoscaler.cooldown_up: has no effect with policy = \"hpa\"; remove it"));
  EXPECT_THAT(error_of(with("metric = \"queue\"\ntarget = 2.0\nmin = 0\n")),
              EndsWith("autoscaler.min: is 0, and only policy = \"keda\" or \"wva\" wakes "
                       "replicas that sleep; keep 1"));
  EXPECT_THAT(
      error_of(with("policy = \"hpa\"\nmetric = \"queue\"\ntarget = 2.0\nup = [{ period = "
                    "\"9 s\" }]\n")),
      HasSubstr("autoscaler.up.replicas: or percent is what a rule says: give one of the two"));
  const std::string keda = "policy = \"keda\"\nmin = 0\ntarget = 0.5\n";
  EXPECT_THAT(error_of(with(keda + "metric = \"kv\"\n")),
              HasSubstr("autoscaler.metric: is kv, which does not count requests that wait while "
                        "all replicas sleep"));
  EXPECT_THAT(
      error_of(with(keda + "metric = \"queue\"\nactivation = 2.0\n")),
      HasSubstr("autoscaler.activation: requests too few to wake a replica would wait for ever"));
  EXPECT_THAT(error_of(with("policy = \"hap\"\nmetric = \"queue\"\ntarget = 2.0\n")),
              HasSubstr("did you mean 'hpa'?"));
}

TEST(AutoscalerTable, MistakesOfWvaAreTold) {
  const std::string wva = "policy = \"wva\"\n", shares = wva + "analyzer = \"shares\"\n";
  const std::vector<std::pair<std::string, const char*>> mistakes = {
      {wva + "metric = \"queue\"\n",
       "autoscaler.metric: has no effect with policy = \"wva\"; remove it"},
      {"policy = \"hpa\"\nmetric = \"queue\"\ntarget = 2.0\ncost = 2.0\n",
       "autoscaler.cost: is a key of policy = \"wva\"; remove it, or choose that policy"},
      {shares + "scale_up_threshold = 0.9\n",
       "autoscaler.scale_up_threshold: has no effect with analyzer = \"shares\"; remove it"},
      {wva + "kv_spare_trigger = 0.2\n",
       "autoscaler.kv_spare_trigger: has no effect with analyzer = \"tokens\"; remove it"},
      {wva + "scale_up_threshold = 0.6\n",
       "autoscaler.scale_up_threshold: is 0.6, and must be above scale_down_boundary = 0.7"},
      {shares + "kv_cache_threshold = 0.05\n",
       "autoscaler.kv_spare_trigger: is 0.1, more than kv_cache_threshold = 0.05 leaves; lower it"},
      {shares + "queue_length_threshold = 2\n",
       "autoscaler.queue_spare_trigger: is 3, more than queue_length_threshold = 2 leaves"},
      {wva + "kv_cache_threshold = 1.5\n", "is a share: above 0, at most 1"},
      {wva + "scrape_interval = \"2 min\"\n",
       "autoscaler.scrape_interval: is longer than metrics_window"},
      {wva + "retention = \"10 min\"\n",
       "autoscaler.retention: stops all replicas, and min keeps some; give min = 0, or remove it"},
      {wva + "min = 0\n", "autoscaler.min: is 0, and a percentage of no replicas is none"},
      {wva + "kv_cache_treshold = 0.5\n", "did you mean 'kv_cache_threshold'?"},
  };
  for (const auto& [keys, message] : mistakes)
    EXPECT_THAT(error_of(with(keys)), HasSubstr(message)) << keys;
}

}  // namespace
}  // namespace foretoken::autoscaler_test
