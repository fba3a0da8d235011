// The highest load of several models: it holds if every model meets the SLO, and table, CSV, JSON
// and command say the same of each.

#include <gmock/gmock.h>

#include "sim/base/json.hpp"
#include "sim/planner/plan/max_load.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "tests/unit/planner/made_up_plan.hpp"

namespace foretoken::max_load_models_test {
namespace {

using testing::HasSubstr;
using testing::Not;

RunOutcome outcome_of(double small, double large, std::int64_t arrived_large = 25) {
  RunOutcome outcome{RunStatus::ran, "", made_up_report(0.98, 500)};
  RequestGroup group;
  group.name = "small";
  group.arrived = 75;
  group.attainment = small;
  outcome.report.models.push_back(group);
  group.name = "large";
  group.arrived = arrived_large;
  group.attainment = large;
  outcome.report.models.push_back(group);
  return outcome;
}

TEST(MaxLoadOfModels, TheOneThatHasItWorstDecides) {
  EXPECT_EQ(attainment_of(made_up_report(0.98, 500)), 0.98);
  EXPECT_EQ(attainment_of(outcome_of(1.0, 0.9).report), 0.9);
  EXPECT_EQ(attainment_of(outcome_of(0.7, 0.9).report), 0.7);
}

// 25 requests of which 20 met it, and 75 of which 72 did: 92 of 100.
TEST(MaxLoadOfModels, SamplesCountEachRequestAlike) {
  const RunOutcome first = outcome_of(1.0, 0.8, 25), second = outcome_of(1.0, 0.96, 75);
  const RunOutcome merged = merged_outcome({&first, &second});
  EXPECT_DOUBLE_EQ(merged.report.models[1].attainment, 0.92);
  EXPECT_DOUBLE_EQ(attainment_of(merged.report), 0.92);
}

/// One cluster that holds 8 requests a second, 6 of them for "small".
MaxLoad answer() {
  MaxLoad answer;
  answer.space.traffic.models = {{"small", 0.75}, {"large", 0.25}};
  answer.space.traffic.rate = PerSecond(4);
  answer.space.traffic.requests = {{100, 50}};
  answer.space.candidates.emplace_back().unit_dollars_per_hour = 10;
  answer.space.keys.emplace_back();
  MaxLoadRow& row = answer.rows.emplace_back();
  row.base.holds = 8;
  row.base.interval = {7, 9};
  row.base.metrics = figure_values(made_up_report(0.98, 500));
  row.base.models = {{"small", 6, 0.995, 210, 11}, {"large", 2, 0.951, 430, 33}};
  answer.best = 0;
  answer.run = {{"workload.rate_scale", 2.0}};
  answer.overrides = {"cluster.name=h200-sxm-8"};
  return answer;
}

TEST(MaxLoadOfModels, IsToldAlikeEverywhere) {
  const std::string table = max_load_table(answer(), "two.toml", false, 120);
  EXPECT_THAT(table, HasSubstr("each model at that load"));
  EXPECT_THAT(table, HasSubstr("small      6.00   99.5 %       210      11.0\n"));
  EXPECT_THAT(table, HasSubstr("large      2.00   95.1 %       430      33.0  first to miss\n"));
  EXPECT_THAT(table, HasSubstr("foretoken simulate two.toml"));
  EXPECT_THAT(table, HasSubstr("cluster.name=h200-sxm-8"));
  EXPECT_THAT(table, HasSubstr("workload.rate_scale=2"));
  const std::string csv = max_load_csv(answer());
  EXPECT_THAT(csv, HasSubstr("reason,small holds_per_s,small attainment,large holds_per_s,large "
                             "attainment\n"));
  EXPECT_THAT(csv, HasSubstr(",6,0.995,2,0.951\n"));
  const std::string json = to_json(max_load_value(answer()));
  EXPECT_THAT(json, HasSubstr(R"("first_to_miss": "large")"));
  EXPECT_THAT(json, HasSubstr("workload.rate_scale=2"));
}

TEST(MaxLoadOfModels, ABurstThatWasServedInTimeIsNoRate) {
  MaxLoad few = answer();
  EXPECT_THAT(max_load_table(few, "few.toml", false, 120), Not(HasSubstr("burst")));
  few.rows.front().base.is_sustained = false;
  EXPECT_THAT(max_load_table(few, "few.toml", false, 120),
              HasSubstr("! served in time as a burst, not as a rate that goes on"));
  EXPECT_THAT(to_json(max_load_value(few)), HasSubstr("\"sustained\": false"));
  EXPECT_THAT(max_load_csv(few), HasSubstr("ask with more requests"));
}

TEST(MaxLoadOfModels, OfOneModelNothingOfItIsTold) {
  MaxLoad one = answer();
  one.space.traffic.models.clear();
  one.rows.front().base.models.clear();
  EXPECT_THAT(max_load_table(one, "one.toml", false, 120), Not(HasSubstr("each model")));
  EXPECT_THAT(max_load_csv(one), HasSubstr(",reason\n"));
  EXPECT_THAT(to_json(max_load_value(one)), Not(HasSubstr("first_to_miss")));
}

}  // namespace
}  // namespace foretoken::max_load_models_test
