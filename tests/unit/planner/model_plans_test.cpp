// Several models' plans put together: the cheapest that agree and find room, by hand and against
// trying every combination.

#include <gmock/gmock.h>

#include <random>

#include "sim/base/toml.hpp"
#include "sim/planner/plan/model_mix.hpp"

namespace foretoken::model_plans_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* scenario_text = R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-8"
[pool.chat]
role = "both"
replicas = 4
[pool.reads]
role = "prefill"
model = { name = "qwen3-0.6b" }
[pool.writes]
role = "decode"
model = { name = "qwen3-0.6b" }
[workload]
arrivals = "interval"
rate = "10 /s"
requests = 100
prompt_tokens = 100
output_tokens = 20
classes = [{ model = "llama-3.1-8b", share = 3 }, { model = "qwen3-0.6b", share = 1 }]
[slo]
ttft = "2 s"
)";

Value root_of(const std::string& more) { return parse_toml(scenario_text + more, "s.toml"); }

std::vector<std::string> keys_of(const std::vector<LayoutChoice>& axes) {
  std::vector<std::string> keys;
  for (const LayoutChoice& axis : axes) keys.push_back(axis.key);
  return keys;
}

TEST(ModelPlans, EachModelIsPlannedWithItsOwnKeys) {
  const Value root = root_of(
      "[plan]\ngpus = [\"h100-sxm\"]\n[plan.vary.pool.writes]\ntensor_parallel = [1, 2]\n"
      "[plan.vary.engine]\nbatch_tokens_max = [2048, 8192]\n");
  const Scenario scenario = read_scenario(root, {"."});
  const PlanSettings settings = read_plan_settings(root);
  const PlanSettings chat = settings_of_model(settings, scenario, 0);
  EXPECT_THAT(keys_of(chat.axes),
              ElementsAre("pool.chat.tensor_parallel", "engine.batch_tokens_max"));
  EXPECT_THAT(chat.axes[0].values, ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(texts_of(chat.common),
              ElementsAre("run.only_model=llama-3.1-8b", "pool.chat.replicas=1"));
  const PlanSettings other = settings_of_model(settings, scenario, 1);
  EXPECT_EQ(keys_of(other.axes).size(), 2U);
  EXPECT_THAT(texts_of(other.common), ElementsAre("run.only_model=qwen3-0.6b"));
}

TEST(ModelPlans, RatiosOfPoolsOfSeveralModelsAreRefused) {
  const Value root = root_of("[plan]\npools = [\"1:1:1\"]\n");
  const Scenario scenario = read_scenario(root, {"."});
  try {
    (void)settings_of_model(read_plan_settings(root), scenario, 0);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("pools of several models have no ratio; choose each "
                                        "pool's, as [plan.vary.pool.NAME] replicas = [1, 2]"));
  }
}

/// A choice that holds: of which GPU, so many of them, at what cost.
struct Made {
  const char* gpu;
  int gpus;
  double dollars;
};

ModelPlan made(const std::string& model, const std::vector<Made>& choices) {
  ModelPlan part;
  part.model = model;
  part.plan.space.axes = {{"gpu", "GPU", {}}, {"pool." + model + ".tensor_parallel", "TP", {}}};
  for (const Made& choice : choices) {
    PlanCandidate& candidate = part.plan.space.candidates.emplace_back();
    candidate.values = {choice.gpu, "1"};
    candidate.unit_gpus = choice.gpus;
    candidate.unit_dollars_per_hour = choice.dollars;
    part.plan.space.keys.emplace_back();
    CandidateResult& result = part.plan.result.candidates.emplace_back();
    result.fate = CandidateFate::holds;
    result.units = 1;
    result.objectives.dollars_per_hour = choice.dollars;
  }
  return part;
}

/// A cluster with room for everything.
Scenario anything(const Changes&) { return {}; }

TEST(ModelPlans, TheCheapestThatFitTogetherAreTaken) {
  const std::vector<ModelPlan> models = {made("a", {{"x", 4, 4.0}, {"x", 2, 5.0}, {"y", 1, 1.0}}),
                                         made("b", {{"x", 4, 4.0}, {"x", 3, 9.0}, {"y", 8, 9.5}})};
  EXPECT_EQ(cheapest_mix(models, 100, anything), (std::vector<std::size_t>{0, 0}));  // 8 on x
  EXPECT_EQ(cheapest_mix(models, 7, anything), (std::vector<std::size_t>{1, 0}));    // 9, 6 GPUs
  EXPECT_EQ(cheapest_mix(models, 5, anything), (std::vector<std::size_t>{1, 1}));    // 14
  EXPECT_EQ(cheapest_mix(models, 4, anything), std::nullopt);
}

TEST(ModelPlans, WhatTheClusterHasNoRoomForIsPassedOver) {
  const std::vector<ModelPlan> models = {made("a", {{"x", 4, 4.0}}), made("b", {{"x", 4, 4.0}})};
  const LoadScenario none = [](const Changes&) -> Scenario { throw ConfigError({}, "too small"); };
  EXPECT_EQ(cheapest_mix(models, 100, none), std::nullopt);
}

TEST(ModelPlans, NoCombinationIsCheaper) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<Made>> all(3);
    std::vector<ModelPlan> models;
    for (std::size_t model = 0; model < all.size(); ++model) {
      for (std::uint32_t i = 1 + random() % 5; i > 0; --i) {
        all[model].push_back({random() % 2 == 0 ? "x" : "y", static_cast<int>(1 + random() % 6),
                              static_cast<double>(1 + random() % 9)});
      }
      models.push_back(made(std::string(1, static_cast<char>('a' + model)), all[model]));
    }
    double least = 1e9;
    for (const Made& a : all[0])
      for (const Made& b : all[1])
        for (const Made& c : all[2])
          if (a.gpu == b.gpu && b.gpu == c.gpu && a.gpus + b.gpus + c.gpus <= 10)
            least = std::min(least, a.dollars + b.dollars + c.dollars);
    const auto mix = cheapest_mix(models, 10, anything);
    ASSERT_EQ(mix.has_value(), least < 1e9) << round;
    if (!mix) continue;
    double dollars = 0;
    for (std::size_t model = 0; model < all.size(); ++model)
      dollars += all[model][(*mix)[model]].dollars;
    EXPECT_EQ(dollars, least) << round;
  }
}

}  // namespace
}  // namespace foretoken::model_plans_test
