// The models inside the program: their names, and that their sizes add up to what was published.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "models/operator_graph.hpp"
#include "models/transformer.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;

TEST(Specs, HaveStableNames) {
  EXPECT_THAT(
      model_names(),
      ElementsAre("dbrx", "deepseek-r1", "deepseek-v2-lite", "deepseek-v3", "deepseek-v3.2",
                  "deepseek-v4-flash", "deepseek-v4-pro", "gemma-3-12b", "gemma-3-1b",
                  "gemma-3-27b", "gemma-4-26b-a4b", "gemma-4-31b", "glm-4.5", "glm-4.5-air",
                  "glm-5", "glm-5.2", "gpt-oss-120b", "gpt-oss-20b", "kimi-k2", "kimi-k2.5",
                  "kimi-k3", "kimi-linear-48b-a3b", "llama-2-7b", "llama-3.1-405b", "llama-3.1-70b",
                  "llama-3.1-8b", "llama-4-maverick-17b-128e", "llama-4-scout-17b-16e",
                  "mimo-v2-flash", "minimax-m2.5", "minimax-m3", "mixtral-8x22b", "mixtral-8x7b",
                  "nemotron-3-nano-30b-a3b", "nemotron-3-super-120b-a12b", "nemotron-super-49b",
                  "olmoe-1b-7b", "phi-3.5-moe", "qwen2.5-14b", "qwen2.5-32b", "qwen2.5-72b",
                  "qwen3-0.6b", "qwen3-14b", "qwen3-235b-a22b", "qwen3-30b-a3b", "qwen3-32b",
                  "qwen3-8b", "qwen3-coder-480b-a35b", "qwen3-next-80b-a3b", "qwen3-omni-30b-a3b",
                  "qwen3-vl-235b-a22b", "qwen3.5-122b-a10b", "qwen3.5-27b", "qwen3.5-397b-a17b",
                  "qwen3.6-35b-a3b", "step-3.7-flash"));
}

// So that its golden simulates every one of them.
TEST(Specs, AllStandInTheExampleOfAll) {
  std::ifstream file(FORETOKEN_SOURCE_DIR "/examples/every_model.cmd");
  std::string line;
  std::getline(file, line);
  EXPECT_THAT(line,
              testing::HasSubstr(fmt::format("model.name={}\"", fmt::join(model_names(), ","))));
}

TEST(Specs, AreNamedAsTheirFiles) {
  for (const std::string& name : model_names()) EXPECT_EQ(load_model(name, {}).name, name);
}

// Every one of them, to the last parameter: a spec with a wrong width cannot pass.
TEST(Specs, CountExactlyThePublishedParameters) {
  for (const std::string& name : model_names()) {
    const Transformer model = load_model(name, {});
    if (model.parameters_published == 0) continue;
    EXPECT_EQ(parameter_count(model), model.parameters_published) << name;
  }
}

struct Card {
  std::string_view name;
  double total, active;  // in 10^9
};

/// What is published of the others is rounded: totals and active parameters by their names or model
/// cards, with or without embedding and LM head.
constexpr auto cards = std::to_array<Card>({{"deepseek-v3.2", 671, 37},
                                            {"deepseek-v4-flash", 284, 13},
                                            {"deepseek-v4-pro", 1600, 49},
                                            {"gemma-4-26b-a4b", 26, 4},
                                            {"gemma-4-31b", 31, 31},
                                            {"glm-5", 744, 40},
                                            {"glm-5.2", 744, 40},
                                            {"kimi-k2.5", 1000, 32},
                                            {"kimi-k3", 2800, 0},
                                            {"kimi-linear-48b-a3b", 48, 3},
                                            {"llama-4-maverick-17b-128e", 400, 17},
                                            {"llama-4-scout-17b-16e", 109, 17},
                                            {"mimo-v2-flash", 309, 15},
                                            {"minimax-m2.5", 230, 10},
                                            {"minimax-m3", 428, 23},
                                            {"nemotron-3-nano-30b-a3b", 30, 3},
                                            {"nemotron-3-super-120b-a12b", 120, 12},
                                            {"nemotron-super-49b", 49, 49},
                                            {"qwen3-coder-480b-a35b", 480, 35},
                                            {"qwen3-vl-235b-a22b", 235, 22},
                                            {"qwen3-next-80b-a3b", 80, 3},
                                            {"qwen3-omni-30b-a3b", 30, 3},
                                            {"qwen3.5-122b-a10b", 122, 10},
                                            {"qwen3.5-27b", 27, 27},
                                            {"qwen3.5-397b-a17b", 397, 17},
                                            {"qwen3.6-35b-a3b", 35, 3},
                                            {"step-3.7-flash", 198, 11}});

TEST(Specs, CountWhatIsPublishedOfTheOthers) {
  const auto is_near = [](double published, std::initializer_list<double> counts) {
    const double tolerance = std::max(0.5, 0.05 * published);
    return std::ranges::any_of(
        counts, [&](double count) { return std::abs(count - published) <= tolerance; });
  };
  for (const std::string& name : model_names()) {
    const Transformer model = load_model(name, {});
    if (model.parameters_published > 0) continue;
    const auto card = std::ranges::find(cards, name, &Card::name);
    ASSERT_NE(card, cards.end()) << name;
    const double total = static_cast<double>(parameter_count(model)) / 1e9;
    const double active = static_cast<double>(active_parameter_count(model)) / 1e9;
    const double words = static_cast<double>(model.vocabulary * model.hidden) / 1e9;
    const double encoder = static_cast<double>(model.encoder_weights()) / 1e9;
    EXPECT_TRUE(is_near(card->total, {total, total + encoder, total - words})) << name << total;
    if (card->active == 0) continue;
    EXPECT_TRUE(is_near(card->active, {active, active - words, active - 2 * words}))
        << name << active;
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
