// The models inside the program: their names, and that their sizes add up to what was published.
#include <gmock/gmock.h>

#include "models/operator_graph.hpp"
#include "models/transformer.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;

TEST(Specs, HaveStableNames) {
  EXPECT_THAT(
      model_names(),
      ElementsAre("dbrx", "deepseek-r1", "deepseek-v2-lite", "deepseek-v3", "gemma-3-12b",
                  "gemma-3-1b", "gemma-3-27b", "glm-4.5", "glm-4.5-air", "gpt-oss-120b",
                  "gpt-oss-20b", "kimi-k2", "llama-2-7b", "llama-3.1-405b", "llama-3.1-70b",
                  "llama-3.1-8b", "mixtral-8x22b", "mixtral-8x7b", "olmoe-1b-7b", "phi-3.5-moe",
                  "qwen2.5-14b", "qwen2.5-32b", "qwen2.5-72b", "qwen3-0.6b", "qwen3-14b",
                  "qwen3-235b-a22b", "qwen3-30b-a3b", "qwen3-32b", "qwen3-8b"));
}

TEST(Specs, AreNamedAsTheirFiles) {
  for (const std::string& name : model_names()) EXPECT_EQ(load_model(name, {}).name, name);
}

// Every one of them, to the last parameter: a spec with a wrong width cannot pass.
TEST(Specs, CountExactlyThePublishedParameters) {
  for (const std::string& name : model_names()) {
    const Transformer model = load_model(name, {});
    EXPECT_GT(model.parameters_published, 0) << name;
    EXPECT_EQ(parameter_count(model), model.parameters_published) << name;
  }
}

// What their authors say of the models: "37B activated" (embedding left out), 5.1B and 3.6B
// (gpt-oss, likewise without the embedding).
TEST(Specs, ActivateWhatTheirModelCardsSay) {
  const auto activated = [](const char* name) {
    const Transformer model = load_model(name, {});
    return static_cast<double>(active_parameter_count(model) - model.vocabulary * model.hidden);
  };
  EXPECT_NEAR(activated("deepseek-v3") / 1e9, 36.6, 0.1);
  EXPECT_NEAR(activated("gpt-oss-120b") / 1e9, 5.13, 0.01);
  EXPECT_NEAR(activated("gpt-oss-20b") / 1e9, 3.61, 0.01);
}

TEST(Specs, UnknownNameIsReportedWhereItWasAskedFor) {
  try {
    load_model("llama-3.1-8", {"chat.toml", 2, 1});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith("chat.toml:2:1: unknown model 'llama-3.1-8'; did you mean "
                                    "'llama-3.1-8b'? Known: dbrx, deepseek-r1, "));
  }
}

TEST(Specs, MissingFileIsReportedWhereItWasAskedFor) {
  for (const char* path : {"./nowhere.toml", "no/where/model", "nowhere.json"}) {
    try {
      load_model(path, {"chat.toml", 2, 1});
      FAIL() << path;
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string(error.what()),
                fmt::format("chat.toml:2:1: the model file '{}' does not exist", path));
    }
  }
}

}  // namespace
}  // namespace foretoken
