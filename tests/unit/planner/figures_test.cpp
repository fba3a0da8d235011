// A figure that a program adds to the catalogue stands wherever figures do: nothing else has to
// know of it.

#include "sim/report/figures.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "sim/base/json.hpp"
#include "sim/planner/compare/compare.hpp"
#include "sim/planner/plan/plan_page.hpp"
#include "sim/planner/run_store.hpp"
#include "sim/planner/sweep/sweep.hpp"
#include "sim/report/page_files.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/planner/made_up_report.hpp"

namespace foretoken::figures_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void add_mean_batch() {
  add_figure({"batch_mean", "mean batch", "sequences", FigureKind::rate, Better::higher,
              FigureUse::runs, "batch.mean", [](const Report& r) { return r.batch_mean; }, "batch",
              "batch"});
}

Report batch_of(double mean) {
  Report report = made_up_report(1, 100, 10);
  report.batch_mean = mean;
  return report;
}

Comparison two_layouts(const std::vector<std::string>& goal_names) {
  Comparison comparison;
  comparison.choices = {{"deployment.tensor_parallel", "TP", {"1", "2"}}};
  comparison.rows = {{{{"1"}}, {RunStatus::ran, "", batch_of(3.25)}},
                     {{{"2"}}, {RunStatus::ran, "", batch_of(7.5)}}};
  comparison.best = best_layouts(comparison.rows, goals(goal_names));
  return comparison;
}

TEST(Figures, OneThatIsAddedStandsInEveryOutput) {
  EXPECT_THAT(comparison_csv(two_layouts({})), Not(HasSubstr("batch_mean")));
  add_mean_batch();
  const Comparison comparison = two_layouts({"batch_mean"});
  const std::string table = comparison_table(comparison, false, 120);
  EXPECT_THAT(table, HasSubstr("  batch  "));
  EXPECT_THAT(table, HasSubstr("7.50"));
  EXPECT_THAT(table, HasSubstr("★ highest batch               TP 2\n"));
  EXPECT_THAT(comparison_csv(comparison), HasSubstr(",batch_mean,"));
  EXPECT_THAT(comparison_csv(comparison), HasSubstr(",7.5,"));
  EXPECT_THAT(to_json(comparison_value(comparison), -1), HasSubstr(R"("batch_mean":7.5)"));
  if (!embedded_uplot().empty()) {
    EXPECT_THAT(comparison_page(comparison, "", ""), HasSubstr(R"("name":"mean batch")"));
  }
}

TEST(Figures, OneThatIsAddedStandsInSweepsAndTheirStore) {
  add_mean_batch();
  SweepResult result;
  result.plan = plan_sweep({{"a.x", {"1"}}}, Combination::cartesian, 0, 1);
  result.runs = {{0, {RunStatus::ran, "", batch_of(3.25)}, "gemm"}};
  EXPECT_THAT(sweep_csv(result), HasSubstr(",batch_mean,"));
  EXPECT_THAT(to_json(sweep_value(result), -1), HasSubstr(R"("batch_mean":{"mean":3.25})"));
  EXPECT_THAT(sweep_table(result, false, 120, 9), HasSubstr("  batch  "));
  if (!embedded_uplot().empty()) {
    EXPECT_THAT(sweep_page(result, "", "", ""), HasSubstr(R"("name":"mean batch")"));
  }

  const std::filesystem::path path = own_folder() / "figures.sqlite";
  std::filesystem::remove(path);
  { RunStore(path, "q").keep({{{"a.x", 1}}}, {RunStatus::ran, "", batch_of(3.25)}); }
  Database database(path);
  auto row = database.prepare("SELECT batch_mean, gpus FROM result");
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row.real(0), 3.25);
  EXPECT_EQ(row.integer(1), 1);
  std::filesystem::remove(path);
}

Scenario scenario_of(const Changes& changes) {
  return load_scenario(FORETOKEN_SOURCE_DIR "/examples/plan.toml", changes);
}

PlanSpace one_choice() {
  PlanSpace space;
  space.axes = {{"deployment.tensor_parallel", "TP", {"8"}}};
  PlanCandidate candidate;
  candidate.values = {"8"};
  candidate.unit_dollars_per_hour = 4;
  space.candidates = {candidate};
  space.keys.emplace_back().replicas = {{"deployment.replicas", 1}};
  space.traffic.requests = {{100, 50}};
  space.traffic.rate = PerSecond(10);
  space.slo.ttft = Seconds(0.5);
  return space;
}

/// A time, which a plan may go by.
void add_longest_gap() {
  add_figure({"gap_p50_ms", "gap p50", "ms", FigureKind::time, Better::lower, FigureUse::runs,
              "gap_ms.p50", [](const Report& r) { return r.batch_mean; }});
}

TEST(Figures, OneThatIsAddedStandsInPlans) {
  add_longest_gap();
  Plan plan;
  plan.space = one_choice();
  plan.settings.latency = "gap_p50";
  CandidateResult& result = plan.result.candidates.emplace_back();
  result.fate = CandidateFate::holds;
  result.units = 1;
  result.metrics = figure_values(batch_of(7.5));
  plan.result.front = {0};
  plan.result.cheapest = 0;
  EXPECT_THAT(plan_table(plan, "a.toml", {}), HasSubstr("  gap p50  "));
  EXPECT_THAT(plan_table(plan, "a.toml", {}), HasSubstr("  7.50  "));
  EXPECT_THAT(plan_csv(plan), HasSubstr(",gap_p50_ms,gap_p50_ms_low,gap_p50_ms_high,"));
  EXPECT_THAT(plan_csv(plan), HasSubstr(",7.5,,,"));
  EXPECT_THAT(to_json(plan_value(plan), -1), HasSubstr(R"("gap_p50_ms":{"value":7.5})"));
  if (!embedded_uplot().empty()) {
    EXPECT_THAT(plan_page(plan, "a.toml", scenario_of, ""), HasSubstr(R"("name":"gap p50")"));
  }
}

TEST(Figures, OneThatIsAddedStandsInHighestLoads) {
  add_longest_gap();
  MaxLoad answer;
  answer.space = one_choice();
  answer.rows.resize(1);
  answer.rows[0].base = {8, 8.1, "", figure_values(batch_of(7.5)), 0.1, {7, 9}};
  EXPECT_THAT(max_load_csv(answer), HasSubstr(",gap_p50_ms,"));
  EXPECT_THAT(max_load_csv(answer), HasSubstr(",7.5,"));
  EXPECT_THAT(to_json(max_load_value(answer), -1), HasSubstr(R"("gap_p50_ms":7.5)"));
  if (!embedded_uplot().empty()) {
    EXPECT_THAT(max_load_page(answer, "a.toml", scenario_of, ""), HasSubstr(R"("name":"gap p50")"));
  }
}

TEST(Figures, EachHasANameOfItsOwnAndAPlaceThatReportsHave) {
  const Value report = report_value(made_up_report(2, 100, 10));
  for (const Figure& figure : figures()) {
    EXPECT_EQ(&figure_named(figure.name), &figure);
    EXPECT_FALSE(figure.title.empty());
    if (figure.place.empty() || figure.of == FigureOf::priced) continue;
    const Value* found = &report;
    for (std::string rest = figure.place; found != nullptr && !rest.empty();) {
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      found = found->find(rest.substr(0, dot));
      rest.erase(0, dot + 1);
    }
    EXPECT_NE(found, nullptr) << figure.place;
  }
}

TEST(Figures, MoveWithTheStepsByTheirKind) {
  EXPECT_EQ(figure_named("ttft_p99_ms").moved(10, 2), 20);
  EXPECT_EQ(figure_named("output_tokens_per_s").moved(10, 2), 5);
  EXPECT_EQ(figure_named("dollars_per_million_output_tokens").moved(10, 2), 20);
  EXPECT_EQ(figure_named("attainment").moved(0.5, 2), 0.5);
}

TEST(Figures, AGoalThatNobodyKnowsNamesTheNearest) {
  EXPECT_EQ(goals({"e2e_p99_ms"}).front()->goal_text(), "lowest E2E p99");
  try {
    (void)goals({"e2e_p98_ms"});
    FAIL() << "took an unknown figure";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--goal e2e_p98_ms: unknown figure"));
    EXPECT_THAT(error.what(), HasSubstr("e2e_p9"));
  }
}

}  // namespace
}  // namespace foretoken::figures_test
