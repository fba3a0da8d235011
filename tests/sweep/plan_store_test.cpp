// Plans as processes that are killed and started again: what was finished is not run again, and the
// answer is that of a plan that nobody disturbed, byte for byte.
#include <csignal>

#include "tests/sweep/process_test.hpp"

namespace foretoken {
namespace {

class PlanOnStore : public ProcessTest {
 protected:
  /// Some 40 runs of some tens of milliseconds.
  [[nodiscard]] std::vector<std::string> plan(const std::string& name,
                                              const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {FORETOKEN_PROGRAM,
                                      "plan",
                                      FORETOKEN_SOURCE_DIR "/examples/plan.toml",
                                      "--gpus",
                                      "h200-sxm,b200-sxm",
                                      "--tp",
                                      "2,4",
                                      "--pp",
                                      "1",
                                      "--jobs",
                                      "2",
                                      "--set",
                                      "workload.requests=400",
                                      "--set",
                                      "plan.replications=[1,2]",
                                      "--out",
                                      path(name)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// "12 runs made, 30 found in FILE" of what a plan said last.
  [[nodiscard]] std::string said(std::int64_t made, std::int64_t known,
                                 const std::string& name) const {
    return "foretoken: " + std::to_string(made) + (made == 1 ? " run" : " runs") + " made, " +
           std::to_string(known) + " found in " + path(name).string() + "/runs.sqlite";
  }
};

TEST_F(PlanOnStore, KilledOnTheWayItRunsNothingTwice) {
  ASSERT_EQ(run_program(plan("whole"), log()), 0) << text_of(log());
  const std::int64_t all = finished_runs(path("whole") / "runs.sqlite");
  std::int64_t before = 0;
  {
    ProgramRun run(plan("killed"), log());
    while (finished_runs(path("killed") / "runs.sqlite") < 5 && !run.has_ended()) usleep(5'000);
    run.signal(SIGKILL);
    ASSERT_EQ(run.wait(), 128 + SIGKILL) << "the plan was faster, so this proves nothing";
    before = finished_runs(path("killed") / "runs.sqlite");
    EXPECT_EQ(integrity(path("killed") / "runs.sqlite"), "ok");
  }
  ASSERT_LT(before, all);
  ASSERT_EQ(run_program(plan("killed"), path("again")), 0) << text_of(path("again"));
  EXPECT_NE(text_of(path("again")).find(said(all - before, before, "killed")), std::string::npos)
      << text_of(path("again"));
  EXPECT_EQ(finished_runs(path("killed") / "runs.sqlite"), all);
  expect_same("whole/plan", "killed/plan");
}

TEST_F(PlanOnStore, CtrlCKeepsWhatIsFinishedAndSaysHowToGoOn) {
  int status = 0;
  {
    ProgramRun run(plan("stopped"), log());
    while (finished_runs(path("stopped") / "runs.sqlite") < 3 && !run.has_ended()) usleep(5'000);
    run.signal(SIGINT);
    status = run.wait();
  }
  ASSERT_EQ(status, 130) << text_of(log());
  EXPECT_NE(text_of(log()).find("Run the same command to continue"), std::string::npos)
      << text_of(log());
  const std::int64_t before = finished_runs(path("stopped") / "runs.sqlite");
  ASSERT_EQ(run_program(plan("stopped"), path("again")), 0) << text_of(path("again"));
  const std::int64_t all = finished_runs(path("stopped") / "runs.sqlite");
  EXPECT_NE(text_of(path("again")).find(said(all - before, before, "stopped")), std::string::npos)
      << text_of(path("again"));
}

TEST_F(PlanOnStore, AnotherChoiceTakesTheRunsThatItShares) {
  ASSERT_EQ(run_program(plan("some", {"--quick"}), log()), 0) << text_of(log());
  const std::int64_t some = finished_runs(path("some") / "runs.sqlite");
  // One hardware fewer, another price: what is left has been run, and the answer is that of a
  // folder of its own.
  const std::vector<std::string> fewer = {"--quick", "--set", "plan.gpus=[\"h200-sxm\"]", "--set",
                                          "plan.prices={h200-sxm=\"9 USD/h\"}"};
  auto words = plan("some", fewer), fresh = plan("fresh", fewer);
  for (auto* command : {&words, &fresh}) command->erase(command->begin() + 3, command->begin() + 5);
  ASSERT_EQ(run_program(words, path("again")), 0) << text_of(path("again"));
  const std::int64_t after = finished_runs(path("some") / "runs.sqlite");
  EXPECT_NE(text_of(path("again")).find(" runs made, "), std::string::npos)
      << text_of(path("again"));
  ASSERT_EQ(run_program(fresh, log()), 0) << text_of(log());
  EXPECT_LT(after - some, finished_runs(path("fresh") / "runs.sqlite"));
  expect_same("some/plan", "fresh/plan");
}

TEST_F(PlanOnStore, AnotherScenarioFindsNothing) {
  ASSERT_EQ(run_program(plan("one", {"--quick"}), log()), 0) << text_of(log());
  ASSERT_EQ(run_program(plan("one", {"--quick", "--set", "workload.requests=390"}), path("other")),
            0)
      << text_of(path("other"));
  EXPECT_EQ(text_of(path("other")).find(" found in "), std::string::npos) << text_of(path("other"));
}

}  // namespace
}  // namespace foretoken
