// What the pages of a plan say, of plans written by hand. tests/page opens real ones in a browser.
#include "sim/planner/plan/plan_page.hpp"

#include <gmock/gmock.h>

#include "sim/base/json.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/report/page_files.hpp"
#include "tests/unit/planner/made_up_plan.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;
using testing::Not;

Scenario scenario_of(const Changes& changes) {
  return load_scenario(FORETOKEN_SOURCE_DIR "/examples/plan.toml", changes);
}

PlanSpace space() {
  PlanSpace space;
  space.axes = {{"deployment.tensor_parallel", "TP", {"8", "16", "1"}}};
  for (const char* tensor : {"8", "16", "1"}) {
    PlanCandidate candidate;
    candidate.values = {tensor};
    candidate.hardware = "h200-sxm";
    candidate.unit_gpus = 2;
    candidate.unit_gpus_by_name = {{"h200-sxm", 2}};
    candidate.unit_dollars_per_hour = 4;
    space.candidates.push_back(candidate);
    CandidateKeys keys;
    keys.replicas = {{"deployment.replicas", 1}};
    space.keys.push_back(keys);
  }
  space.traffic.requests = {{100, 50}};
  space.traffic.rate = PerSecond(10);
  space.slo.ttft = Seconds(0.5);
  return space;
}

/// TP 8 holds with two replicas and TP 16 with three, which may cost no more; TP 1 cannot be.
Plan plan() {
  Plan plan;
  plan.space = space();
  plan.runs = 10;
  plan.counted_runs = 40;
  for (const int units : {2, 3}) {
    CandidateResult result;
    result.fate = CandidateFate::holds;
    result.units = units;
    result.metrics = figure_values(made_up_report(0.995, 1000.0 * units));
    result.objectives = {4.0 * units, 1000.0 * units, 100.0 / units};
    plan.result.candidates.push_back(result);
  }
  CandidateResult impossible;
  impossible.fate = CandidateFate::impossible;
  impossible.reason = "the weights do not fit";
  plan.result.candidates.push_back(impossible);
  plan.result.front = {0};
  plan.result.cheapest = 0;
  plan.as_good_as_cheapest = {1};
  DeploymentConfidence sure;
  sure.half_width = 0.1;
  sure.error.families = {{"gemm", 0.8, 0.05}};
  for (const double value : plan.result.candidates[0].metrics)
    sure.metrics.push_back({value * 0.5, value * 2});
  sure.units_faster = 2;
  sure.units_slower = 3;
  sure.load_holds = 1.25;
  plan.confidences.push_back(sure);
  return plan;
}

class PlanPage : public testing::Test {
 protected:
  void SetUp() override {
    if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  }
};

TEST_F(PlanPage, SaysWhatIsCheapestAndHowSureThatIs) {
  const std::string html = plan_page(plan(), "chat.toml", scenario_of, "1.2.3");
  EXPECT_THAT(html,
              HasSubstr(R"("label":"Cheapest that meets the SLO","value":"TP 8, 2 replicas")"));
  EXPECT_THAT(html, HasSubstr(R"("note":"4 x h200-sxm","tone":"good")"));
  // Two units at $4, three if steps are slow; 10 x 50 tokens/s: 8 / 1.8e6 * 1e6 = $4.44 a million.
  EXPECT_THAT(
      html, HasSubstr(R"("value":"$8.00","unit":"an hour",)"
                      R"("note":"$5,840 a month · $8.00 to $12.00 · $4.44 per M output tokens")"));
  EXPECT_THAT(html, HasSubstr(R"("value":"2.00","unit":"s","note":"1.00 to 4.00")"));
  EXPECT_THAT(html, HasSubstr(R"("value":"12.5","unit":"requests/s","note":"10.5 required")"));
  EXPECT_THAT(html, HasSubstr(R"("value":"10","unit":"of 40","note":"75.0 % saved")"));
  EXPECT_THAT(html, HasSubstr("TP 16, 3 replicas: $12.00 an hour"));
  EXPECT_THAT(html, HasSubstr("not possible, the weights do not fit: TP 1"));
  EXPECT_THAT(html, HasSubstr(R"("texts":["as good","cheapest","impossible"])"));
  EXPECT_THAT(html, HasSubstr("foretoken simulate chat.toml --set deployment.replicas=2"));
  EXPECT_THAT(html, HasSubstr("ttft ≤ 500 ms for 99.0 % of the requests"));
}

TEST(PlanWithAMargin, SaysWhichLoadAFigureIsFor) {
  Plan sized = plan();
  sized.settings.margin = 0.5;
  const std::string table = plan_table(sized, "chat.toml", {.width = 200});
  EXPECT_THAT(table, HasSubstr("10.0 requests/s"));
  EXPECT_THAT(table, HasSubstr("sized for 15.0 requests/s, 50.0 % more ([plan] margin): latencies "
                               "and throughput are at that load"));
  EXPECT_THAT(table, HasSubstr("/GPU: output tokens/s at the sized load"));
  EXPECT_THAT(to_json(plan_value(sized), -1),
              HasSubstr(R"("requests_per_s":10.0,"sized_for_requests_per_s":15.0)"));
  if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  const std::string html = plan_page(sized, "chat.toml", scenario_of, "1.2.3");
  EXPECT_THAT(html, HasSubstr("Sized for 15.0 requests/s, 50.0 % more"));
  EXPECT_THAT(html, HasSubstr(R"("value":"12.5","unit":"requests/s","note":"15.0 required")"));
  EXPECT_THAT(html, HasSubstr("$4.44 per M output tokens"));  // of those that the traffic has
  sized.settings.margin = 0;
  EXPECT_THAT(plan_table(sized, "chat.toml", {.width = 200}),
              HasSubstr("/GPU: output tokens/s at this load"));
}

TEST(PlanTable, CountsOneAsOne) {
  Plan one = plan();
  one.runs = 1;
  one.result.candidates.erase(one.result.candidates.begin() + 1);
  one.space.candidates.erase(one.space.candidates.begin() + 1);
  one.as_good_as_cheapest.clear();
  const std::string table = plan_table(one, "chat.toml", {.width = 200});
  EXPECT_THAT(table, HasSubstr("2 choices: 1 meets the SLO, 0 miss it, 0 beaten"));
  EXPECT_THAT(table, HasSubstr("\n  1 run; trying every"));
}

TEST_F(PlanPage, DrawsIntervalsAndTheEdge) {
  const std::string html = plan_page(plan(), "chat.toml", scenario_of, "1.2.3");
  EXPECT_THAT(html, HasSubstr(R"_("x":[8.0],"y":[2000.0],"size":[0.3],)_"
                              R"_("notes":["TP 8, 2 replicas: $8.00 an hour, 2,000 ms )_"
                              R"_((1,000 to 4,000)"],"low":[1000.0],"high":[4000.0])_"));
  // TP 16 costs more and is slower: the edge is one point.
  EXPECT_THAT(html,
              HasSubstr(R"({"name":"best for the money","kind":"line","x":[8.0],"y":[2000.0]})"));
}

TEST_F(PlanPage, OfNothingThatHoldsSaysWhy) {
  Plan none = plan();
  none.result.candidates.erase(none.result.candidates.begin(), none.result.candidates.begin() + 2);
  none.space.candidates.erase(none.space.candidates.begin(), none.space.candidates.begin() + 2);
  none.result.front.clear();
  none.result.cheapest.reset();
  none.as_good_as_cheapest.clear();
  none.confidences.clear();
  const std::string html = plan_page(none, "chat.toml", scenario_of, "1.2.3");
  EXPECT_THAT(html, HasSubstr(R"("label":"Cheapest that meets the SLO","value":"none")"));
  EXPECT_THAT(html, HasSubstr("not possible, the weights do not fit: TP 1"));
  EXPECT_THAT(html, Not(HasSubstr(R"("kind":"chart")")));
}

TEST_F(PlanPage, OfHighestLoadsShowsWhatChangesAreWorth) {
  MaxLoad answer;
  answer.space = space();
  answer.changes = {{"gpu.dram_bandwidth=+20%", "dram_bandwidth", 1.2}};
  const std::vector<double> metrics = figure_values(made_up_report(1, 1000));
  for (std::size_t i = 0; i < 3; ++i) answer.rows.push_back({i, {}, {}});
  answer.rows[0].base = {8, 8.1, "", metrics, 0.1, {7, 9}};
  answer.rows[0].changed = {{9, 9.1, "", metrics, 0, {}}};
  answer.rows[1].base = {4, 4.1, "", metrics, 0.1, {3, 5}};
  answer.rows[1].changed = {{3, 3.1, "", metrics, 0, {}}};
  answer.rows[2].base.impossible = "the weights do not fit";
  answer.best = 0;
  const std::string html = max_load_page(answer, "chat.toml", scenario_of, "1.2.3");
  EXPECT_THAT(html, HasSubstr(R"("label":"Most requests per dollar","value":"TP 8")"));
  EXPECT_THAT(html, HasSubstr(R"("value":"8.00","unit":"requests/s",)"
                              R"("note":"7.00 to 9.00 · 4.00 per GPU")"));
  // 9 / 8 and 3 / 4: the longest bar is the loss of a quarter, the gain is half as long.
  EXPECT_THAT(html, HasSubstr(R"({"name":"gpu.dram_bandwidth=+20% · TP 8",)"
                              R"("value":"+12.5 % · 9.00/s instead of 8.00/s","share":0.5})"));
  EXPECT_THAT(html, HasSubstr(R"("value":"−25.0 % · 3.00/s instead of 4.00/s","share":-1.0})"));
  EXPECT_THAT(html, HasSubstr("the weights do not fit"));
}

/// Two models that hold with TP 8: two replicas and three.
ModelPlans model_plans() {
  ModelPlans plans;
  for (const char* name : {"small", "large"}) {
    ModelPlan& part = plans.models.emplace_back();
    part.model = name;
    part.plan = plan();
    part.units = plans.models.size() == 1 ? 2 : 3;
    part.share = plans.models.size() == 1 ? 0.75 : 0.25;
    part.attainment = 0.97;
  }
  plans.run = {{"deployment.replicas", 2}};
  plans.runs = 21;
  return plans;
}

TEST_F(PlanPage, OfSeveralModelsTellsTheSumAndEachModelsPlan) {
  const std::string html = model_plans_page(model_plans(), "chat.toml", scenario_of, "1.2.3");
  EXPECT_THAT(html, HasSubstr(R"("label":"Cheapest for 2 models","value":"10 GPUs")"));
  EXPECT_THAT(html, HasSubstr(R"("label":"Cost","value":"$20.00","unit":"an hour")"));
  EXPECT_THAT(html, HasSubstr(R"("label":"small","value":"TP 8, 2 replicas")"));
  EXPECT_THAT(html, HasSubstr(R"("label":"large","value":"TP 8, 3 replicas")"));
  EXPECT_THAT(html, HasSubstr("small alone: All choices"));
  EXPECT_THAT(html, HasSubstr("large alone: Confidence"));
  EXPECT_THAT(html, HasSubstr("deployment.replicas=2"));
}

TEST_F(PlanPage, OfSeveralModelsWithoutAnAnswerSaysWhy) {
  ModelPlans none = model_plans();
  none.run.clear();
  none.problem = "no choice of large meets the SLO";
  const std::string html = model_plans_page(none, "chat.toml", scenario_of, "1.2.3");
  EXPECT_THAT(html, HasSubstr("no choice of large meets the SLO"));
  EXPECT_THAT(html, Not(HasSubstr("The models together")));
}

}  // namespace
}  // namespace foretoken
