// The models inside the program: their names, and that their sizes add up to what was published.
#include <gmock/gmock.h>

#include "models/operator_graph.hpp"
#include "models/transformer.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;

TEST(Specs, HaveStableNames) {
  EXPECT_THAT(model_names(),
              ElementsAre("llama-2-7b", "llama-3.1-405b", "llama-3.1-70b", "llama-3.1-8b",
                          "mixtral-8x22b", "mixtral-8x7b", "olmoe-1b-7b", "qwen2.5-14b",
                          "qwen2.5-32b", "qwen2.5-72b", "qwen3-0.6b", "qwen3-14b",
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

TEST(Specs, UnknownNameIsReportedWhereItWasAskedFor) {
  try {
    load_model("llama-3.1-8", {"chat.toml", 2, 1});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith("chat.toml:2:1: unknown model 'llama-3.1-8'; did you mean "
                                    "'llama-3.1-8b'? Known: llama-2-7b, "));
  }
}

TEST(Specs, MissingFileIsReportedWhereItWasAskedFor) {
  for (const char* path : {"./nowhere.toml", "nowhere/model", "nowhere.json"}) {
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
