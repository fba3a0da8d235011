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
        "policy = \"planner\"\ncapacity = \"900 /s\"\nprediction = \"trend\"\nhistory = 9\n"}) {
    const Scenario scenario = read(with(keys));
    const std::string text = to_toml(resolved_scenario(scenario));
    EXPECT_EQ(to_toml(resolved_scenario(read(text))), text) << keys;
  }
  const Scenario hpa = read(with("policy = \"hpa\"\nmetric = \"kv\"\ntarget = 0.5\n"));
  EXPECT_EQ(hpa.autoscaler->up.size(), 2U);
  EXPECT_EQ(hpa.autoscaler->window_down, Seconds(300.0));
}

TEST(AutoscalerTable, MistakesAreTold) {
  EXPECT_THAT(error_of(with("")), HasSubstr("[autoscaler] lacks 'metric'"));
  EXPECT_THAT(error_of(with("policy = \"planner\"\n")), HasSubstr("[autoscaler] lacks 'capacity'"));
  EXPECT_THAT(error_of(with("policy = \"hpa\"\nmetric = \"queue\"\ntarget = 2.0\n"
                            "cooldown_up = \"1 s\"\n")),
              EndsWith("autoscaler.cooldown_up: has no effect with policy = \"hpa\"; remove it"));
  EXPECT_THAT(
      error_of(with("metric = \"queue\"\ntarget = 2.0\nmin = 0\n")),
      EndsWith("autoscaler.min: is 0, and only policy = \"keda\" wakes replicas that sleep; "
               "keep 1"));
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

}  // namespace
}  // namespace foretoken::autoscaler_test
