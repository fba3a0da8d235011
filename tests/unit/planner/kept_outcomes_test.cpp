// Outcomes kept by what was asked: what is found again, what is not, and that a plan whose runs are
// all there makes none.

#include <gmock/gmock.h>

#include <filesystem>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/planner/run_store.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/planner/made_up_plan.hpp"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

class KeptOutcomesTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  [[nodiscard]] RunStore open(const std::string& question) const { return {path_, question}; }

  const std::filesystem::path path_ = own_folder() / "outcomes.sqlite";

 private:
  void clear() const {
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_.string() + end);
  }
};

const RunRequest request = {{{"cluster.name", "h200-sxm-8"}, {"deployment.replicas", 2}}};
const RunOutcome outcome = {RunStatus::ran, "", made_up_report(0.5, 0.125)};

TEST_F(KeptOutcomesTest, FindsWhatWasKeptAfterItWasClosed) {
  open("one").keep(request, outcome);
  RunStore store = open("one");
  const auto found = store.find(request);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->status, RunStatus::ran);
  EXPECT_EQ(to_json(report_value(found->report), -1), to_json(report_value(outcome.report), -1));
  EXPECT_EQ(store.found(), 1U);
  EXPECT_EQ(store.kept(), 0U);
}

TEST_F(KeptOutcomesTest, FindsNothingOfAnotherQuestionOrRequest) {
  RunStore one = open("one"), two = open("two");
  one.keep(request, outcome);
  EXPECT_FALSE(two.find(request).has_value());
  EXPECT_FALSE(one.find({{{"cluster.name", "h200-sxm-8"}}}).has_value());
  two.keep(request, {RunStatus::infeasible, "it does not fit", {}});
  EXPECT_EQ(one.find(request)->status, RunStatus::ran);
  EXPECT_EQ(two.find(request)->status, RunStatus::infeasible);
  EXPECT_EQ(two.find(request)->message, "it does not fit");
}

TEST_F(KeptOutcomesTest, TheFirstOfTwoThatMadeOneRunStays) {
  RunStore one = open("one"), other = open("one");
  one.keep(request, outcome);
  other.keep(request, {RunStatus::infeasible, "later", {}});
  EXPECT_EQ(other.find(request)->status, RunStatus::ran);
}

TEST_F(KeptOutcomesTest, RefusesARowThatIsNotAsItWasWritten) {
  open("one").keep(request, outcome);
  Database(path_).execute("UPDATE run SET report = replace(report, '0.125', '0.25')");
  try {
    (void)open("one");
    FAIL() << "took another figure";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("outcomes.sqlite: row 1 is damaged"));
  }
}

TEST_F(KeptOutcomesTest, RefusesAnotherProgramsFile) {
  Database(path_).execute("CREATE TABLE theirs (a)");
  try {
    (void)open("one");
    FAIL() << "took another program's file";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("is an SQLite file of another program; choose another one"));
  }
}

TEST_F(KeptOutcomesTest, APlanWhoseRunsAreThereMakesNone) {
  const std::vector<MadeUp> truth = {{.unit_rate = 4}, {.unit_rate = 1, .fits = false}};
  const std::vector<PlanProbe> probes = {{.candidate = 0, .units = 1},
                                         {.candidate = 0, .units = 3},
                                         {.candidate = 1, .units = 1},
                                         {.candidate = 0, .units = 1}};
  const auto ask = [&](std::size_t few) {
    MadeUpPlanRunner runner(truth, 10);
    RunStore store = open("one");
    PlanRuns runs(runner, MadeUpPlanRunner::requests, {}, &store);
    runs.run({probes.begin(), probes.begin() + static_cast<std::ptrdiff_t>(few)});
    const auto outcomes = runs.run(probes);
    EXPECT_EQ(runs.made(), 3U) << "three different runs are asked for";
    EXPECT_EQ(outcomes[2]->message, "it does not fit");
    EXPECT_EQ(outcomes[0], outcomes[3]);
    return runner.started;
  };
  EXPECT_EQ(ask(2), 3);
  EXPECT_EQ(ask(0), 0);
}

}  // namespace
}  // namespace foretoken
