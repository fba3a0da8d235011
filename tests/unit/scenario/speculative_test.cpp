// [engine.speculative]: what is filled in, what is refused, and that it is written back.
#include "sim/scenario/speculative.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/operator_graph.hpp"
#include "sim/base/change.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken::speculative_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* base = R"([model]
name = "llama-3.1-70b"
[cluster]
name = "h200-sxm-8"
[deployment]
tensor_parallel = 4
[workload]
arrivals = "all_at_once"
requests = 10
prompt_tokens = 100
output_tokens = 10
)";

Scenario read(const std::vector<std::string>& keys) {
  Value root = parse_toml(base, "s.toml");
  apply_changes(root, parse_changes(keys));
  return read_scenario(root, {"."});
}

std::vector<std::string> speculative(const std::vector<std::string>& keys) {
  std::vector<std::string> overrides;
  for (const std::string& key : keys) overrides.push_back("engine.speculative." + key);
  return overrides;
}

SpeculativeSettings settings(const std::vector<std::string>& keys) {
  return read(speculative(keys)).engine.speculative.value();
}

std::string error_of(const std::vector<std::string>& keys,
                     const std::vector<std::string>& other = {}) {
  std::vector<std::string> overrides = other;
  for (const std::string& key : speculative(keys)) overrides.push_back(key);
  try {
    (void)read(overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Speculative, IsOffByDefaultAndWithoutDrafts) {
  EXPECT_FALSE(read({}).engine.speculative.has_value());
  EXPECT_FALSE(read(speculative({"method=eagle", "drafts=0"})).engine.speculative.has_value());
  const std::string off = to_toml(resolved_scenario(read({})));
  EXPECT_EQ(
      to_toml(resolved_scenario(read(speculative({"method=ngram", "drafts=0", "acceptance=0.5"})))),
      off);
}

TEST(Speculative, OneProbabilityIsThatOfEveryPosition) {
  EXPECT_THAT(settings({"method=ngram", "drafts=3", "acceptance=0.7"}).acceptance,
              ElementsAre(0.7, 0.7, 0.7));
  EXPECT_THAT(settings({"method=ngram", "drafts=2", "acceptance=[0.9, 0.5]"}).acceptance,
              ElementsAre(0.9, 0.5));
}

TEST(Speculative, ATextThatWasMeasuredStandsForItsNumbers) {
  const auto of = [](const std::string& drafts, const std::string& text) {
    return std::vector<std::string>{"model.name=qwen3.5-397b-a17b", "deployment.tensor_parallel=8",
                                    "engine.speculative.method=mtp",
                                    "engine.speculative.drafts=" + drafts,
                                    "engine.speculative.acceptance=" + text};
  };
  const Scenario scenario = read(of("3", "coding"));
  const std::vector<double>& acceptance = scenario.engine.speculative->acceptance;
  ASSERT_EQ(acceptance.size(), 3U);
  // 1 to 3 drafts gave 1.92, 2.70 and 3.33 tokens.
  EXPECT_NEAR(1 + acceptance[0], 1.92, 0.04);
  EXPECT_NEAR(1 + acceptance[0] * (1 + acceptance[1]), 2.70, 0.05);
  EXPECT_NEAR(1 + acceptance[0] * (1 + acceptance[1] * (1 + acceptance[2])), 3.33, 0.07);
  const Value again = resolved_scenario(scenario);
  EXPECT_EQ(read_scenario(again, {"."}).engine.speculative->acceptance, acceptance);
  for (const auto& [drafts, text, message] :
       {std::tuple{"3", "poetry",
                   "acceptance: was not measured for qwen3.5-397b-a17b with method "
                   "\"mtp\" on \"poetry\"; give numbers"},
        std::tuple{"9", "coding",
                   "drafts: = 9 goes beyond the 8 that acceptance was measured for"}}) {
    try {
      (void)read(of(drafts, text));
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

TEST(Speculative, FewerDraftsInLargerBatches) {
  const std::vector<std::string> keys = {"method=ngram", "drafts=4", "acceptance=0.7",
                                         "drafts_by_batch=[[16, 2], [64, 0]]"};
  const Scenario scenario = read(speculative(keys));
  const std::vector<std::pair<int, int>> by_batch = {{16, 2}, {64, 0}};
  EXPECT_EQ(scenario.engine.speculative->drafts_by_batch, by_batch);
  EXPECT_EQ(read_scenario(resolved_scenario(scenario), {"."}).engine.speculative->drafts_by_batch,
            by_batch);
  for (const char* wrong : {"[[16, 5]]", "[[64, 0], [16, 2]]", "[[0, 1]]", "[16, 2]", "2"}) {
    EXPECT_THAT(error_of({"method=ngram", "drafts=4", "acceptance=0.7",
                          std::string("drafts_by_batch=") + wrong}),
                HasSubstr("engine.speculative.drafts_by_batch: must be pairs of sequences"))
        << wrong;
  }
}

TEST(Speculative, ADraftModelRunsAsPublished) {
  const SpeculativeSettings made =
      settings({"method=draft_model", "model=llama-3.1-8b", "drafts=3", "acceptance=0.7"});
  EXPECT_EQ(made.draft->layers, 32);
  EXPECT_EQ(made.tensor_parallel, 4);
  ExecutionSettings target;
  target.dtype = DType::fp8;
  EXPECT_EQ(made.execution(target).dtype, DType::bf16);
  const ParallelLayout layout = made.layout({.tensor = 4, .pipeline = 2});
  EXPECT_EQ(layout.tensor, 4);
  EXPECT_EQ(layout.pipeline, 1);
  const SpeculativeSettings alone =
      settings({"method=draft_model", "model=llama-3.1-8b", "drafts=3", "acceptance=0.7",
                "tensor_parallel=1", "dtype=fp8"});
  EXPECT_EQ(alone.layout({.tensor = 4}).tensor, 1);
  EXPECT_EQ(alone.execution({}).dtype, DType::fp8);
}

TEST(Speculative, AnEagleHeadFollowsFromADenseModel) {
  const SpeculativeSettings named =
      settings({"method=eagle", "model=eagle3-llama-3.1-70b", "drafts=3", "acceptance=0.7"});
  const SpeculativeSettings derived = settings({"method=eagle", "drafts=3", "acceptance=0.7"});
  EXPECT_EQ(parameter_count(*derived.draft), parameter_count(*named.draft));
  EXPECT_EQ(derived.draft->draft_head, named.draft->draft_head);
  EXPECT_EQ(derived.following_draft().draft_head->target_layers, 0);
}

TEST(Speculative, AModuleRunsAsItsModel) {
  const Scenario scenario =
      read({"model.name=deepseek-v3", "deployment.tensor_parallel=8",
            "deployment.expert_parallel=8", "engine.speculative.method=mtp",
            "engine.speculative.drafts=1", "engine.speculative.acceptance=0.85"});
  const SpeculativeSettings& made = *scenario.engine.speculative;
  EXPECT_EQ(made.draft->draft_head->kind, DraftHeadKind::mtp);
  EXPECT_EQ(made.execution(scenario.execution).dtype, DType::fp8_block);
  EXPECT_EQ(made.layout(scenario.deployment.layout).expert, 8);
}

TEST(Speculative, IsWrittenBack) {
  const Scenario scenario = read(
      speculative({"method=draft_model", "model=llama-3.1-8b", "drafts=2", "acceptance=[0.8, 0.6]",
                   "dtype=fp8", "tensor_parallel=1", "host_time=200 us"}));
  const std::string text = to_toml(resolved_scenario(scenario));
  const Scenario again = read_scenario(parse_toml(text, "again.toml"), {"."});
  EXPECT_EQ(to_toml(resolved_scenario(again)), text);
  EXPECT_THAT(again.engine.speculative->acceptance, ElementsAre(0.8, 0.6));
  EXPECT_EQ(again.engine.speculative->tensor_parallel, 1);
  EXPECT_DOUBLE_EQ(again.engine.speculative->host_time.value(), 2e-4);
}

TEST(Speculative, MistakesAreTold) {
  EXPECT_THAT(error_of({"method=ngram", "drafts=2", "acceptance=[0.9, 0.8, 0.7]"}),
              HasSubstr("has 3 probabilities for 2 drafts; give one for each draft"));
  EXPECT_THAT(error_of({"method=ngram", "drafts=3", "acceptance=[0.9]"}),
              HasSubstr("has 1 probability for 3 drafts"));
  EXPECT_THAT(error_of({"method=ngram", "drafts=2", "acceptance=1.5"}),
              HasSubstr("is a probability, from 0 to 1, not 1.5"));
  EXPECT_THAT(error_of({"method=ngram", "drafts=2", "acceptance=[0.5, -0.1]"}),
              HasSubstr("is a probability, from 0 to 1, not -0.1"));
  EXPECT_THAT(error_of({"method=ngram", "drafts=2"}), HasSubstr("acceptance: is missing"));
  EXPECT_THAT(error_of({"method=ngram", "drafts=-1", "acceptance=0.5"}),
              HasSubstr("must be from 1 to 64"));
  EXPECT_THAT(error_of({"method=ngram", "drafts=65", "acceptance=0.5"}),
              HasSubstr("must be from 1 to 64"));
  EXPECT_THAT(error_of({"method=eagel", "drafts=2", "acceptance=0.5"}),
              HasSubstr("did you mean 'eagle'?"));
  EXPECT_THAT(error_of({"drafts=2", "acceptance=0.5"}), HasSubstr("method"));
  EXPECT_THAT(error_of({"method=ngram", "draft=2", "acceptance=0.5"}),
              HasSubstr("did you mean 'drafts'?"));
}

TEST(Speculative, WhatDoesNotFitTheTargetIsTold) {
  const auto with_draft = [](const char* method, const char* model) {
    return error_of({std::string("method=") + method, std::string("model=") + model, "drafts=2",
                     "acceptance=0.5"});
  };
  EXPECT_THAT(error_of({"method=mtp", "drafts=1", "acceptance=0.8"}),
              HasSubstr("llama-3.1-70b was released without a multi-token prediction module"));
  EXPECT_THAT(error_of({"method=mtp", "drafts=1", "acceptance=0.8"}), HasSubstr("glm-4.5-air"));
  EXPECT_THAT(with_draft("draft_model", "qwen3-0.6b"),
              HasSubstr("has a vocabulary of 151936, but llama-3.1-70b one of 128256"));
  EXPECT_THAT(with_draft("draft_model", "eagle3-llama-3.1-70b"),
              HasSubstr("is a head on another model; use method = \"eagle\""));
  EXPECT_THAT(with_draft("eagle", "llama-3.1-8b"),
              HasSubstr("is a complete model; use method = \"draft_model\""));
  EXPECT_THAT(with_draft("eagle", "eagle3-llama-3.1-8b"),
              HasSubstr("is a head for hidden states 4096 wide, but those of llama-3.1-70b are"));
  EXPECT_THAT(with_draft("ngram", "llama-3.1-8b"), HasSubstr("needs no other model"));
  EXPECT_THAT(error_of({"method=draft_model", "drafts=2", "acceptance=0.5"}),
              HasSubstr("which model drafts"));
  EXPECT_THAT(
      error_of({"method=eagle", "drafts=2", "acceptance=0.5"}, {"model.name=qwen3-30b-a3b"}),
      HasSubstr("the head must be named"));
  EXPECT_THAT(error_of({"method=ngram", "drafts=2", "acceptance=0.5", "dtype=fp8"}),
              HasSubstr("\"ngram\" has none"));
  EXPECT_THAT(error_of({"method=eagle", "drafts=2", "acceptance=0.5", "tensor_parallel=2"}),
              HasSubstr("must be 1 (every rank runs the draft whole) or the model's 4"));
  EXPECT_THAT(error_of({"method=ngram", "drafts=40", "acceptance=0.5"}),
              HasSubstr("more than batch_tokens_max = 8192"));
  EXPECT_THAT(error_of({}, {"model.name=eagle3-llama-3.1-8b"}),
              HasSubstr("drafts tokens for another model"));
}

}  // namespace
}  // namespace foretoken::speculative_test
