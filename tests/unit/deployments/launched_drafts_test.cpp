// What engines draft with and how much, where flags leave it to them.
#include <gmock/gmock.h>

#include "tests/unit/deployments/imported.hpp"

namespace foretoken::import_test {
namespace {

using ::testing::HasSubstr;

// EAGLE and NEXTN are one algorithm, with the module that was released with the model.
TEST(LaunchedDrafts, SglangDraftsWithTheModelsOwnModule) {
  const std::string deepseek =
      "sglang serve --model-path deepseek-ai/DeepSeek-V3 --tp 8 --speculative-algorithm ";
  for (const char* method : {"EAGLE", "NEXTN", "EAGLE --speculative-draft-model-path x/NextN"}) {
    const LaunchedScenario found = imported(deepseek + method);
    EXPECT_THAT(table(found, "engine"), HasSubstr(R"("method":"mtp","drafts":3,"accept)"));
    EXPECT_THAT(found.notes, ::testing::Contains("no flag says how much is drafted: drafts = 3 "
                                                 "is SGLang's choice"));
  }
}

TEST(LaunchedDrafts, SglangChoosesHowMuchIsDrafted) {
  const auto engine = [](const std::string& model, const std::string& flags) {
    return table(imported("sglang serve --model-path " + model +
                          " --speculative-draft-model-path x/y --speculative-algorithm " + flags),
                 "engine");
  };
  EXPECT_THAT(engine("meta-llama/Llama-3.1-8B", "EAGLE3"),
              HasSubstr(R"("drafts":5,"topk":4,"tree_tokens":7)"));
  EXPECT_THAT(engine("Qwen/Qwen3-8B", "EAGLE3"), HasSubstr(R"("drafts":3,"accept)"));
  EXPECT_THAT(engine("meta-llama/Llama-3.1-8B", "EAGLE3 --speculative-num-steps 2"),
              HasSubstr(R"("drafts":2,"accept)"));
  EXPECT_THAT(
      imported("vllm serve Qwen/Qwen3-8B --speculative-config '{\"method\": \"ngram\"}'").notes,
      ::testing::Contains("no flag says how much is drafted: drafts = 1 is assumed"));
}

TEST(LaunchedDrafts, VllmTellsHeadsByTheirNames) {
  const auto engine = [](const std::string& config) {
    return table(imported("vllm serve meta-llama/Llama-3.1-8B -sc '" + config + "'"), "engine");
  };
  for (const char* head : {"yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "yuhuili/EAGLE-LLaMA3-8B"}) {
    EXPECT_THAT(engine(fmt::format(R"({{"model": "{}", "num_speculative_tokens": 3}})", head)),
                HasSubstr(R"("method":"eagle","drafts":3)"));
  }
  EXPECT_THAT(failure("vllm serve Qwen/Qwen3-8B -sc '{\"method\": \"ngram\", "
                      "\"num_speculative_tokens\": -3}'"),
              HasSubstr("num_speculative_tokens must be a whole number from 1, not -3"));
}

}  // namespace
}  // namespace foretoken::import_test
