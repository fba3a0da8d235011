// Models by what Hugging Face and people call them.
#include "models/model_name.hpp"

#include <gmock/gmock.h>

namespace foretoken {
namespace {

std::string called(std::string_view text) {
  const auto named = model_named(text);
  return named ? named->name : "";
}

TEST(ModelName, HuggingFaceIdsInAnyCase) {
  EXPECT_EQ(called("meta-llama/Llama-3.1-8B-Instruct"), "llama-3.1-8b");
  EXPECT_EQ(called("meta-llama/Meta-Llama-3.1-70B"), "llama-3.1-70b");
  EXPECT_EQ(called("META-LLAMA/LLAMA-3.3-70B-INSTRUCT"), "llama-3.1-70b");
  EXPECT_EQ(called("Llama-3.3-70B"), "llama-3.1-70b");
  EXPECT_EQ(called("Qwen/Qwen3-235B-A22B-Instruct-2507"), "qwen3-235b-a22b");
  EXPECT_EQ(called("mistralai/Mixtral-8x7B-Instruct-v0.1"), "mixtral-8x7b");
  EXPECT_EQ(called("google/gemma-3-27b-it"), "gemma-3-27b");
  EXPECT_EQ(called("deepseek-ai/DeepSeek-R1-0528"), "deepseek-r1");
  EXPECT_EQ(called("openai/gpt-oss-120b"), "gpt-oss-120b");
  EXPECT_EQ(called("Qwen/Qwen3.5-397B-A17B"), "qwen3.5-397b-a17b");
  EXPECT_EQ(called("MiniMaxAI/MiniMax-M2.7"), "minimax-m2.5");
  EXPECT_EQ(called("zai-org/GLM-5.1-FP8"), "glm-5");
  EXPECT_EQ(called("moonshotai/Kimi-K2.6"), "kimi-k2.5");
  EXPECT_EQ(called("deepseek-ai/DeepSeek-V3.2-Exp"), "deepseek-v3.2");
  EXPECT_EQ(called("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"), "nemotron-3-nano-30b-a3b");
  EXPECT_EQ(called("nvidia/Llama-3_3-Nemotron-Super-49B-v1"), "nemotron-super-49b");
  EXPECT_EQ(called("google/gemma-4-31B-it"), "gemma-4-31b");
  EXPECT_EQ(called("nvidia/Llama-3_3-Nemotron-Super-49B-v1_5"), "nemotron-super-49b");
  EXPECT_EQ(called("zai-org/GLM-4.7"), "glm-4.5");
  EXPECT_EQ(called("deepseek-ai/DeepSeek-V3.1-Terminus"), "deepseek-v3");
  EXPECT_EQ(called("moonshotai/Kimi-K2-Thinking"), "kimi-k2.5");
  EXPECT_EQ(called("meta-llama/Llama-4-Maverick-17B-128E-Instruct"), "llama-4-maverick-17b-128e");
  EXPECT_EQ(called("Qwen/Qwen3-Next-80B-A3B-Instruct"), "qwen3-next-80b-a3b");
  EXPECT_EQ(called("Qwen/Qwen9-8B"), "");
  EXPECT_EQ(called(""), "");
}

TEST(ModelName, WhatTheNameSaysOfTheFormatIsKept) {
  EXPECT_EQ(model_named("meta-llama/Llama-3.1-8B-Instruct")->released, std::nullopt);
  EXPECT_EQ(model_named("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic")->released, DType::fp8);
  EXPECT_EQ(model_named("Qwen/Qwen3-32B-FP8")->released, DType::fp8_block);
  EXPECT_EQ(model_named("Qwen/Qwen3-32B-AWQ")->released, DType::w4a16);
  EXPECT_EQ(model_named("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4")->released,
            DType::w4a16);
  EXPECT_EQ(model_named("nvidia/DeepSeek-R1-0528-NVFP4-v2")->released, DType::nvfp4);
  EXPECT_EQ(load_model("Qwen/Qwen3-32B-AWQ", {}).released, WeightFormats(DType::w4a16));
  EXPECT_EQ(load_model("openai/gpt-oss-120b", {}).released,
            load_model("gpt-oss-120b", {}).released);
}

TEST(ModelName, AnIdIsTwoNamesAndNoFile) {
  EXPECT_TRUE(is_model_id("meta-llama/Llama-3.1-8B"));
  for (const char* path : {"./model", "../model", "a/b/c", "/model", "models/", "a/b.toml",
                           "a/config.json", "llama"}) {
    EXPECT_FALSE(is_model_id(path)) << path;
  }
}

TEST(ModelName, AnUnknownIdIsToldTheNearestAndHowToImport) {
  try {
    load_model("meta-llama/Llama-3.1-9B-Instruct", {"chat.toml", 2, 1});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              "chat.toml:2:1: no built-in model is called 'meta-llama/Llama-3.1-9B-Instruct'; did "
              "you mean 'llama-3.1-8b'? Else download its config.json and give that file's path "
              "(`foretoken model list` has the built-in ones)");
  }
  try {
    load_model("acme/Zebra-9B", {});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'acme/Zebra-9B'; download its config.json"));
  }
}

}  // namespace
}  // namespace foretoken
