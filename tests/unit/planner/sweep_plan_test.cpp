// Which runs a sweep has, in which order, and which mistakes are told before any of them runs.

#include "sim/planner/sweep/sweep_plan.hpp"

#include <gmock/gmock.h>

namespace foretoken::sweep_plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(VariedKey, SplitsAtCommasThatStandInNoValue) {
  const VariedKey key = read_varied_key(" workload.rate = 4 /s, 8 /s ");
  EXPECT_EQ(key.key, "workload.rate");
  EXPECT_THAT(key.values, ElementsAre("4 /s", "8 /s"));
  EXPECT_THAT(read_varied_key("a.b={ x = 1, y = [2, 3] },'p,q',\"r,s\",7").values,
              ElementsAre("{ x = 1, y = [2, 3] }", "'p,q'", "\"r,s\"", "7"));
}

TEST(VariedKey, SaysWhatIsWrongWithIt) {
  EXPECT_EQ(error_of([] { (void)read_varied_key("a.b"); }),
            "--vary a.b: expected table.key=value,value, for example workload.rate=4 /s,8 /s");
  EXPECT_EQ(error_of([] { (void)read_varied_key("a.b=1,,2"); }),
            "--vary a.b=1,,2: has an empty value; check for a doubled or trailing comma");
  EXPECT_EQ(error_of([] { (void)read_varied_key("a.b=1, 1"); }),
            "--vary a.b=1, 1: lists the value 1 twice");
}

TEST(SweepPlan, TheLastKeyChangesFastestAndSeedsFasterStill) {
  const SweepPlan plan =
      plan_sweep({{"a.x", {"1", "2"}}, {"b.y", {"3", "4"}}}, Combination::cartesian, 2, 7);
  EXPECT_EQ(plan.points.size(), 4U);
  EXPECT_EQ(plan.runs(), 8U);
  EXPECT_THAT(texts_of(plan.request(0).changes), ElementsAre("a.x=1", "b.y=3", "run.seed=7"));
  EXPECT_THAT(texts_of(plan.request(1).changes), ElementsAre("a.x=1", "b.y=3", "run.seed=8"));
  EXPECT_THAT(texts_of(plan.request(2).changes), ElementsAre("a.x=1", "b.y=4", "run.seed=7"));
  EXPECT_THAT(texts_of(plan.request(7).changes), ElementsAre("a.x=2", "b.y=4", "run.seed=8"));
}

TEST(SweepPlan, WithoutSeedsTheScenariosOwnStays) {
  const SweepPlan plan = plan_sweep({{"a.x", {"1", "2"}}}, Combination::cartesian, 0, 7);
  EXPECT_THAT(texts_of(plan.request(1).changes), ElementsAre("a.x=2"));
  EXPECT_EQ(plan_sweep({}, Combination::cartesian, 3, 1).runs(), 3U);
}

TEST(SweepPlan, ZippedKeysGoSideBySide) {
  const SweepPlan plan =
      plan_sweep({{"a.x", {"1", "2"}}, {"b.y", {"3", "4"}}}, Combination::zipped, 0, 1);
  ASSERT_EQ(plan.runs(), 2U);
  EXPECT_THAT(texts_of(plan.request(1).changes), ElementsAre("a.x=2", "b.y=4"));
  EXPECT_THAT(error_of([] {
                (void)plan_sweep({{"a.x", {"1", "2"}}, {"b.y", {"3"}}}, Combination::zipped, 0, 1);
              }),
              HasSubstr("--vary b.y: has 1 value but a.x has 2"));
}

TEST(SweepPlan, RefusesWhatCannotBeMeant) {
  const auto plan = [](std::vector<VariedKey> keys, std::size_t seeds) {
    return error_of([&] { (void)plan_sweep(std::move(keys), Combination::cartesian, seeds, 1); });
  };
  EXPECT_THAT(plan({}, 0), HasSubstr("--vary: is missing"));
  EXPECT_THAT(plan({{"a.x", {"1"}}, {"a.x", {"2"}}}, 0), HasSubstr("is given twice"));
  EXPECT_THAT(plan({{"run.seed", {"1"}}}, 2), HasSubstr("conflicts with --seeds"));
  const std::vector<std::string> many(1001, "v");
  EXPECT_THAT(plan({{"a.x", many}, {"a.y", many}}, 0), HasSubstr("more than 1000000 runs"));
}

/// Refuses the key b.z in every run, and a.x = 3 in its own words.
void check(const RunRequest& request) {
  std::vector<Diagnostic> mistakes;
  for (const std::string& assignment : texts_of(request.changes)) {
    const SourcePosition position{"--set " + assignment};
    if (assignment == "a.x=3") mistakes.push_back({position, "3 does not divide 8"});
    if (assignment.starts_with("b.z=")) mistakes.push_back({position, "unknown key 'z'"});
  }
  if (!mistakes.empty()) throw ConfigError(std::move(mistakes));
}

TEST(SweepCheck, NamesAKeyThatNoRunTakes) {
  const SweepPlan plan =
      plan_sweep({{"a.x", {"1", "3"}}, {"b.z", {"1", "2"}}}, Combination::cartesian, 2, 1);
  EXPECT_EQ(error_of([&] { check_sweep(plan, check); }), "--vary b.z: unknown key 'z'");
}

TEST(SweepCheck, AValueThatCannotBeIsARowAndNoMistake) {
  int checked = 0;
  const SweepPlan plan =
      plan_sweep({{"a.x", {"3", "1"}}, {"a.y", {"1", "2"}}}, Combination::cartesian, 0, 1);
  EXPECT_EQ(error_of([&] {
              check_sweep(plan, [&](const RunRequest& request) {
                ++checked;
                check(request);
              });
            }),
            "no error");
  EXPECT_EQ(checked, 3);  // both with a.x = 3, and the first that can be
}

TEST(SweepCheck, AValueThatCanNeverBeReadIsTold) {
  const SweepPlan plan =
      plan_sweep({{"a.x", {"1", "two", "3"}}, {"a.y", {"1", "2"}}}, Combination::cartesian, 0, 1);
  EXPECT_EQ(error_of([&] {
              check_sweep(plan, [](const RunRequest& request) {
                const Change& x = request.changes.front();
                if (x.value_text() == "two")
                  throw ConfigError({"--set a.x=two"}, "'two' is no number", Mistake::slip);
                check(request);
              });
            }),
            "--vary a.x: 'two' is no number");
}

TEST(SweepCheck, TellsAMistakeOfTheScenarioAsItIs) {
  const SweepPlan plan = plan_sweep({{"a.x", {"1", "2"}}}, Combination::cartesian, 0, 1);
  EXPECT_EQ(error_of([&] {
              check_sweep(plan, [](const RunRequest&) {
                throw ConfigError({"s.toml", 3}, "unknown table 'modle'");
              });
            }),
            "s.toml:3: unknown table 'modle'");
}

}  // namespace
}  // namespace foretoken::sweep_plan_test
