// Intervals and highest loads with a runner that knows the answers.

#include "sim/planner/plan/plan_confidence.hpp"

#include <gmock/gmock.h>

#include "sim/planner/plan/plan_metrics.hpp"
#include "tests/unit/planner/made_up_plan.hpp"

namespace foretoken::plan_confidence_test {
namespace {

using ::testing::Optional;

constexpr double load = 10;  // requests a second

PlanCandidate candidate() {
  PlanCandidate made;
  made.hardware = "h100-sxm";
  made.units_max = 64;
  made.unit_dollars_per_hour = 1;
  return made;
}

TEST(Confidence, SlowerStepsTakeMoreUnitsAndScaleTimes) {
  // A unit holds 2.6 requests a second: 4 of them hold 10.4.
  MadeUpPlanRunner runner({{.unit_rate = 2.6, .latency_ms = 1000}}, load);
  PlanRuns runs(runner, MadeUpPlanRunner::requests, {});
  const std::vector<PlanCandidate> candidates = {candidate()};
  const Report report = made_up_report(1, 1000);
  const RunOutcome run{RunStatus::ran, "", report};
  TrafficSample traffic;
  const PlanRequests requests({CandidateKeys{}}, traffic, {}, {});
  const auto answers = confidence_of({{0, 4, figure_values(report), &run, 2}}, candidates, requests,
                                     {.confidence = 0.9, .target = 0.99}, runs);
  ASSERT_EQ(answers.size(), 1U);
  const double width = answers[0].half_width;
  EXPECT_NEAR(width, 0.1943, 0.0005);
  // 10 x 1.194 = 11.9 takes five; 10 / 1.194 = 8.4 takes four still (three hold 7.8).
  EXPECT_THAT(answers[0].units_slower, Optional(5));
  EXPECT_THAT(answers[0].units_faster, Optional(4));
  const std::size_t e2e = figure_index("e2e_p50_ms");
  EXPECT_NEAR(answers[0].metrics[e2e].high, 1000 * (1 + width), 1e-9);
  EXPECT_NEAR(answers[0].metrics[e2e].low, 1000 / (1 + width), 1e-9);
  const std::size_t rate = figure_index("output_tokens_per_s");
  EXPECT_NEAR(answers[0].metrics[rate].low, 1000 / (1 + width), 1e-9);
  // The fleet holds 1.04 times the load, found to 2 %.
  ASSERT_TRUE(answers[0].load_holds && answers[0].load_fails);
  EXPECT_LE(*answers[0].load_holds, 1.04);
  EXPECT_GT(*answers[0].load_fails, 1.04);
  EXPECT_LE(*answers[0].load_fails, *answers[0].load_holds * 1.02);
}

TEST(Confidence, RangesThatMeetCannotBeToldApart) {
  const CostRange cheap{8, 10, 12}, dear{11, 14, 16}, dearer{13, 14, 16};
  EXPECT_TRUE(cannot_be_told_apart(cheap, dear, false));
  EXPECT_FALSE(cannot_be_told_apart(cheap, dearer, false));
  // On one GPU the error is one for both: the cheap one is cheaper in each case.
  EXPECT_FALSE(cannot_be_told_apart(cheap, dear, true));
  EXPECT_TRUE(cannot_be_told_apart({8, 10, 12}, {8, 11, 13}, true));
}

TEST(HighestLoad, SaysWhatCannotBe) {
  MadeUpPlanRunner runner({{.unit_rate = 1, .latency_ms = 1, .fits = false}}, load);
  PlanRuns runs(runner, MadeUpPlanRunner::requests, {});
  HighestLoad task({}, 0.99, {1, 1}, 1.0, {});
  run_tasks({&task}, runs);
  EXPECT_EQ(task.impossible(), "it does not fit");
  EXPECT_EQ(task.search().holds(), std::nullopt);
}

TEST(PlanRuns, AsksNothingTwice) {
  MadeUpPlanRunner runner({{}}, load);
  PlanRuns runs(runner, MadeUpPlanRunner::requests, {});
  const auto outcomes = runs.run({{.units = 10}, {.units = 9}, {.units = 10}});
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_EQ(outcomes[0], outcomes[2]);
  (void)runs.run({{.units = 9}});
  EXPECT_EQ(runs.made(), 2U);
  EXPECT_EQ(runner.started, 2);
  EXPECT_DOUBLE_EQ(attainment_of(outcomes[0]->report), 1.0);
  EXPECT_DOUBLE_EQ(attainment_of(outcomes[1]->report), 0.5);
}

/// Three samples of which the first alone misses too much.
class SampleRunner final : public ScenarioRunner {
 public:
  [[nodiscard]] std::size_t slots() const override { return 2; }
  void start(std::size_t ticket, const RunRequest& request) override {
    asked.push_back(request.changes.front().value_text());
    const double met = asked.back() == "busy" ? busy_met : 1.0;
    finished_.push_back({ticket, {RunStatus::ran, "", made_up_report(met, met < 1 ? 900 : 300)}});
  }
  std::optional<Finished> wait() override {
    Finished finished = finished_.front();
    finished_.erase(finished_.begin());
    return finished;
  }
  double busy_met = 1;
  std::vector<std::string> asked;

 private:
  std::vector<Finished> finished_;
};

std::vector<RunRequest> three_samples(const PlanProbe&) {
  return {{{{"hour", "busy"}}, 3}, {{{"hour", "usual"}}, 3}, {{{"hour", "quiet"}}, 3}};
}

TEST(PlanRuns, SamplesAreCountedTogether) {
  SampleRunner runner;
  runner.busy_met = 0.97;  // 3 of its 100 requests miss, as many as may
  PlanRuns runs(runner, three_samples, {});
  const RunOutcome& outcome = *runs.run({{}}).front();
  EXPECT_EQ(runner.asked.size(), 3U);
  EXPECT_NEAR(attainment_of(outcome.report), 0.99, 1e-12);
  const std::vector<double> metrics = figure_values(outcome.report);
  EXPECT_NEAR(metrics[figure_index("e2e_mean_ms")], 500, 1e-9);
  EXPECT_NEAR(metrics[figure_index("e2e_p99_ms")], 900, 1e-9) << "of the worst";
}

TEST(PlanRuns, ASampleThatMissesTooMuchSparesTheOthers) {
  SampleRunner runner;
  runner.busy_met = 0.96;
  PlanRuns runs(runner, three_samples, {});
  EXPECT_LT(attainment_of(runs.run({{}}).front()->report), 0.99);
  EXPECT_THAT(runner.asked, ::testing::ElementsAre("busy"));
}

}  // namespace
}  // namespace foretoken::plan_confidence_test
