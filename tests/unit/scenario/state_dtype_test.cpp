// The number format of recurrent states: as published, else as the engine chooses, else as asked.

#include <gmock/gmock.h>

#include "models/sequence_memory.hpp"
#include "sim/base/toml.hpp"
#include "tests/unit/scenario/scenario_text.hpp"
#include "workloads/state_format.hpp"

namespace foretoken::state_dtype_test {
namespace {

using scenario_text::error_of;
using scenario_text::minimal;
using scenario_text::read;
using ::testing::HasSubstr;

Scenario of(const std::string& model, std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), "model.name=" + model);
  return read(minimal, overrides);
}

std::optional<DType> dtype(const std::string& model, const std::string& preset) {
  return state_dtype_of(of(model, {"engine.preset=" + preset}).model);
}

TEST(StateDtype, EnginesChooseWhereTheConfigurationNamesNone) {
  EXPECT_EQ(dtype("qwen3-next-80b-a3b", "vllm-v1"), DType::bf16);
  EXPECT_EQ(dtype("qwen3-next-80b-a3b", "sglang"), DType::fp32);
  EXPECT_EQ(dtype("qwen3-next-80b-a3b", "tensorrt-llm"), DType::bf16);
  EXPECT_EQ(dtype("qwen3.5-27b", "vllm-v1"), DType::fp32);  // mamba_ssm_dtype of its configuration
  EXPECT_EQ(dtype("nemotron-3-nano-30b-a3b", "vllm-v1"), DType::fp32);
  EXPECT_EQ(dtype("kimi-linear-48b-a3b", "vllm-v1"), std::nullopt);  // fp32, whatever the engine
  EXPECT_EQ(dtype("llama-3.1-8b", "vllm-v1"), std::nullopt);
}

// 36 layers of 32 heads with 128 x 128 values each, beside the convolutions' tails.
TEST(StateDtype, HalvesWhatASequenceKeeps) {
  const auto kept = [](const std::string& format) {
    const Scenario scenario = of("qwen3-next-80b-a3b", {"model.state_dtype=" + format});
    return sequence_memory_per_rank(scenario.model, {}, 0, DType::bf16).state;
  };
  EXPECT_DOUBLE_EQ((kept("fp32") - kept("bf16")).value(), 36.0 * 32 * 128 * 128 * 2);
}

TEST(StateDtype, WhatIsAskedForHoldsAndIsWrittenBack) {
  const Scenario asked = of("qwen3.5-27b", {"model.state_dtype=bf16"});
  EXPECT_EQ(state_dtype_of(asked.model), DType::bf16);
  const std::string text = to_toml(resolved_scenario(asked));
  EXPECT_THAT(text, HasSubstr("state_dtype = \"bf16\""));
  EXPECT_EQ(to_toml(resolved_scenario(read(text))), text);
  EXPECT_EQ(to_toml(resolved_scenario(of("llama-3.1-8b"))).find("state_dtype"), std::string::npos);
}

TEST(StateDtype, MistakesAreTold) {
  EXPECT_THAT(error_of(minimal, {"model.state_dtype=bf16"}),
              HasSubstr("model.state_dtype: is for states of delta nets and Mamba-2, but there are "
                        "none in llama-3.1-8b"));
  EXPECT_THAT(error_of(minimal, {"model.name=qwen3-next-80b-a3b", "model.state_dtype=fp8"}),
              HasSubstr("model.state_dtype: must be fp32 or bf16"));
}

}  // namespace
}  // namespace foretoken::state_dtype_test
