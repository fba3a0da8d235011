// What variables around a launch line change, and what is told of the others.
#include <gmock/gmock.h>

#include "tests/unit/deployments/imported.hpp"

namespace foretoken::import_test {
namespace {

TEST(LaunchedEnvironment, VariablesThatAreFlagsActLikeThem) {
  const std::string serve = "vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --enable-expert-parallel";
  const auto exchange = [](const std::string& text) {
    return table(imported(text), "deployment").find("deepep_low_latency") != std::string::npos;
  };
  const std::string set = "VLLM_ALL2ALL_BACKEND=deepep_low_latency";
  EXPECT_FALSE(exchange(serve));
  EXPECT_FALSE(exchange(set + "\n" + serve)) << "of the shell alone";
  EXPECT_TRUE(exchange(set + " " + serve));
  EXPECT_TRUE(exchange("export " + set + "\n" + serve));
  EXPECT_TRUE(exchange(set + "\nexport VLLM_ALL2ALL_BACKEND\n" + serve));
  EXPECT_TRUE(exchange("docker run -e " + set +
                       " vllm/vllm-openai --model deepseek-ai/DeepSeek-V3 "
                       "-dp 8 --enable-expert-parallel"));
  EXPECT_TRUE(exchange("export " + set + "; bash -c '" + serve + "'"));
  EXPECT_FALSE(exchange(set + " " + serve + " --all2all-backend naive")) << "the flag is nearer";
  const LaunchedScenario found = imported(set + " VLLM_ATTENTION_BACKEND=FLASHINFER " + serve);
  EXPECT_EQ(fate_of(found, "VLLM_ALL2ALL_BACKEND"), FlagFate::set);
  EXPECT_EQ(fate_of(found, "VLLM_ATTENTION_BACKEND"), FlagFate::not_modelled);
}

TEST(LaunchedEnvironment, TellsOfTheEnginesOtherVariables) {
  const LaunchedScenario shell = imported(
      "HF_TOKEN=x VLLM_USE_DEEP_GEMM=1 SGLANG_X=1 CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B");
  ASSERT_EQ(shell.flags.size(), 1U);
  EXPECT_EQ(shell.flags[0].flag, "VLLM_USE_DEEP_GEMM");
  EXPECT_EQ(shell.flags[0].fate, FlagFate::not_modelled);
  EXPECT_EQ(shell.flags[0].value, "") << "it may be a secret";
  const LaunchedScenario compose = imported(
      "services:\n  llm:\n    image: lmsysorg/sglang:v0.5.8\n    environment: [SGL_Y=1]\n"
      "    command: python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B\n");
  EXPECT_EQ(fate_of(compose, "SGL_Y"), FlagFate::not_modelled);
  const LaunchedScenario dynamo = imported(
      "kind: DynamoGraphDeployment\nspec:\n  envs: [{name: VLLM_A, value: '1'}]\n  services:\n"
      "    Worker:\n      envs: [{name: VLLM_B, value: '1'}]\n      extraPodSpec:\n"
      "        mainContainer:\n          env: [{name: VLLM_C, value: '1'}]\n"
      "          command: [python3, -m, dynamo.vllm, --model, Qwen/Qwen3-8B]\n");
  for (const char* name : {"VLLM_A", "VLLM_B", "VLLM_C"})
    EXPECT_EQ(fate_of(dynamo, name), FlagFate::not_modelled) << name;
}

}  // namespace
}  // namespace foretoken::import_test
