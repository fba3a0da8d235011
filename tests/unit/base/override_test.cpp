// "--set table.key=value": what the value becomes, where it lands and what its position says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/change.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

using testing::ThrowsMessage;

std::string after(std::string_view before, std::string_view assignment) {
  Value root = parse_toml(before, "a.toml");
  apply_changes(root, {Change::parse(assignment)});
  return to_toml(root);
}

TEST(Override, ReplacesInPlace) {
  EXPECT_EQ(after("[run]\nseed = 1\nwarmup = 2\n", "run.seed=7"), "[run]\nseed = 7\nwarmup = 2\n");
}

TEST(Override, CreatesTables) {
  EXPECT_EQ(after("", "slo.ttft=500 ms"), "[slo]\nttft = \"500 ms\"\n");
  EXPECT_EQ(after("", "workload.prompt_tokens.mean=12"),
            "[workload]\nprompt_tokens = { mean = 12 }\n");
}

TEST(Override, ReadsTomlValues) {
  EXPECT_EQ(after("", "a.x=1.5"), "[a]\nx = 1.5\n");
  EXPECT_EQ(after("", "a.x=true"), "[a]\nx = true\n");
  EXPECT_EQ(after("", "a.x=[1, 2]"), "[a]\nx = [1, 2]\n");
  EXPECT_EQ(after("", "a.x={ y = 1 }"), "[a]\nx = { y = 1 }\n");
  EXPECT_EQ(after("", "a.x=\"1\""), "[a]\nx = \"1\"\n");
}

TEST(Override, AStringThatLooksLikeANumberNeedsNoQuotes) {
  const auto read_back = [](const Change& change) {
    Value root = parse_toml("[engine]\n", "a.toml");
    apply_changes(root, {change});
    Diagnostics mistakes;
    TableReader table(*root.find("engine"), mistakes, "engine");
    std::string version;
    table.read("version", version);
    mistakes.throw_if_any();
    return version;
  };
  // A version 0.10 is not 0.1.
  const Change typed = Change::parse("engine.version=0.10");
  EXPECT_EQ(read_back(typed), "0.10");
  EXPECT_EQ(typed.text(), "engine.version=0.10");
  EXPECT_EQ(read_back(Change::parse(typed.text())), "0.10");
  EXPECT_EQ(read_back(Change::parse("engine.version= 1 ")), "1");
  EXPECT_EQ(read_back(Change("engine.version", 0.5)), "0.5");
  EXPECT_EQ(read_back(Change::parse("engine.version=\"0.12\"")), "0.12");
  EXPECT_THAT([&] { read_back(Change::parse("engine.version=[0.12]")); },
              ThrowsMessage<ConfigError>("--set engine.version=[0.12]: engine.version: must be a "
                                         "string, not an array"));
}

TEST(Override, ABareWordIsAString) {
  EXPECT_EQ(after("", "model.name=qwen3-8b"), "[model]\nname = \"qwen3-8b\"\n");
  EXPECT_EQ(after("", "model.name="), "[model]\nname = \"\"\n");
  EXPECT_EQ(after("", "trace.path=a=b.csv"), "[trace]\npath = \"a=b.csv\"\n");
  EXPECT_EQ(after("", "run.day=2024-01-01"), "[run]\nday = \"2024-01-01\"\n");
}

TEST(Override, AValueCannotSmuggleInAnotherKey) {
  EXPECT_EQ(after("", "a.x=1\ny = 2"), "[a]\nx = \"1\\u000ay = 2\"\n");
}

TEST(Override, ForgivesSpacesAroundEquals) {
  EXPECT_EQ(after("", "run.seed = 7"), "[run]\nseed = 7\n");
}

TEST(Override, PositionsNameTheOption) {
  Value root;
  apply_changes(root, {Change::parse("workload.prompt_tokens={ mean = 1 }")});
  const Value* tokens = root.find("workload")->find("prompt_tokens");
  const std::string expected = "--set workload.prompt_tokens={ mean = 1 }";
  EXPECT_EQ(root.find("workload")->position.text(), expected);
  EXPECT_EQ(tokens->position.text(), expected);
  EXPECT_EQ(tokens->find("mean")->position.text(), expected);
}

TEST(Override, RefusesWhatIsNoAssignment) {
  for (const std::string text : {"run.seed", "=1", ".seed=1", "run.=1", "run..seed=1", ""}) {
    EXPECT_THAT(
        [&] { after("", text); },
        ThrowsMessage<ConfigError>(
            "--set " + text + ": expected table.key=value, for example engine.sequences_max=128"))
        << text;
  }
}

// As many levels as dots were built, and freeing them overflowed the stack.
TEST(Override, RefusesDeepNesting) {
  std::string key = "a";
  for (int i = 0; i < 31'000; ++i) key += ".a";
  EXPECT_THROW(after("", key + "=1"), ConfigError);
  EXPECT_EQ(after("", "a.a=1"), "[a]\na = 1\n");
}

TEST(Override, RefusesToGoThroughAValue) {
  EXPECT_THAT([] { after("[run]\nseed = 1\n", "run.seed.x=1"); },
              ThrowsMessage<ConfigError>("--set run.seed.x=1: 'seed' is an integer, not a table"));
}

}  // namespace
}  // namespace foretoken
