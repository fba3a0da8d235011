// Comparisons with a runner that makes up its outcomes: order, reasons, best rows, and what an
// interruption leaves behind.

#include "sim/planner/compare/compare.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <sstream>

#include "sim/base/json.hpp"
#include "sim/planner/choice_complaints.hpp"
#include "sim/report/page_column.hpp"
#include "sim/report/page_files.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/planner/backwards_runner.hpp"
#include "tests/unit/planner/made_up_report.hpp"

namespace foretoken::compare_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<LayoutChoice> choices = {{"deployment.tensor_parallel", "TP", {"1", "2", "4"}},
                                           {"deployment.pipeline_parallel", "PP", {"1", "2"}}};

/// TP 4 with PP 2 is infeasible.
RunOutcome outcome_of(const RunRequest& request) {
  const int tensor = request.changes[0].value_text().back() - '0';
  const int pipeline = request.changes[1].value_text().back() - '0';
  if (tensor == 4 && pipeline == 2) return {RunStatus::infeasible, "too many GPUs", {}};
  // Twice the GPUs bring 1.5 times the tokens; pipelines cost latency.
  const double rate = tensor == 1 ? 100 : tensor == 2 ? 150 : 225;
  return {RunStatus::ran, "", made_up_report(tensor * pipeline, rate, 80.0 / tensor + pipeline)};
}

class CompareTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  [[nodiscard]] Comparison compare(ScenarioRunner& runner) const {
    RunStore store(path_, "q");
    const RunOwner alone = {"a", "here", 60, [] { return 0.0; },
                            [](const std::string&) { return false; }};
    return compare_layouts(choices, runner, store, alone, {});
  }
  void clear() const {
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_.string() + end);
  }

 private:
  std::filesystem::path path_ = own_folder() / "compare.sqlite";
};

TEST_F(CompareTest, RowsStandInTheOrderOfTheValuesWhateverFinishesFirst) {
  BackwardsRunner runner(outcome_of);
  const Comparison comparison = compare(runner);
  ASSERT_EQ(comparison.rows.size(), 6U);
  EXPECT_THAT(comparison.rows[0].layout.values, ElementsAre("1", "1"));
  EXPECT_THAT(comparison.rows[1].layout.values, ElementsAre("1", "2"));
  EXPECT_THAT(comparison.rows[4].layout.values, ElementsAre("4", "1"));
  EXPECT_EQ(comparison.rows[5].outcome.message, "too many GPUs");
  EXPECT_TRUE(comparison.is_complete);
  EXPECT_DOUBLE_EQ(figure_named("output_tokens_per_s_gpu").value(*comparison.rows[4].report()),
                   225.0 / 4);
  EXPECT_EQ(bound_of(*comparison.rows[0].report()), "gemm 75 %");
}

TEST_F(CompareTest, NamesTheBestByEachGoal) {
  BackwardsRunner runner(outcome_of);
  const Comparison comparison = compare(runner);
  std::vector<std::pair<std::string, std::size_t>> best;
  for (const BestRun& goal : comparison.best) best.emplace_back(goal.goal(), goal.place);
  EXPECT_THAT(comparison.best[1].ties, ElementsAre(1U, 2U, 3U, 4U)) << "all TPOTs are equal";
  EXPECT_THAT(best, ElementsAre(std::pair("lowest TTFT p99", 4U),               // 80 / 4 + 1
                                std::pair("lowest TPOT p99", 0U),               // all equal
                                std::pair("highest throughput", 4U),            // 225
                                std::pair("highest throughput per GPU", 0U)));  // 100 / 1
}

/// A row whose TTFT p50 is `ttft_ms`, 10 % give or take.
ComparedLayout row_of(const char* value, double ttft_ms, bool has_slo, bool meets_it) {
  Report report = made_up_report(1, 100, ttft_ms);
  if (has_slo) {
    report.slo = {.targets = {"ttft <= 1 s"},
                  .attainment = meets_it ? 0.995 : 0.925,
                  .goodput_per_s = 1.0,
                  .met = meets_it,
                  .ttft_ms = 1000,
                  .tpot_ms = std::nullopt,
                  .e2e_ms = std::nullopt};
  }
  add_made_up_intervals(0.9, 1.1, report);
  return {{{value}}, {RunStatus::ran, "", report}};
}

TEST_F(CompareTest, RowsWhoseIntervalsOverlapShareTheStar) {
  Comparison comparison;
  comparison.choices = {{"deployment.tensor_parallel", "TP", {"1", "2", "4"}}};
  for (const auto& [value, ttft] :
       {std::pair("1", 110.0), std::pair("2", 100.0), std::pair("4", 130.0)})
    comparison.rows.push_back(row_of(value, ttft, false, false));
  comparison.best = best_layouts(comparison.rows, goals());
  ASSERT_EQ(comparison.best.front().goal(), "lowest TTFT p99");
  EXPECT_EQ(comparison.best.front().place, 1U);
  EXPECT_THAT(comparison.best.front().ties, ElementsAre(0U));
  // Every output says so.
  EXPECT_THAT(comparison_table(comparison, false, 100),
              HasSubstr("★ lowest TTFT p99             TP 2 · TP 1\n"));
  EXPECT_THAT(comparison_csv(comparison), HasSubstr("1,ran,"));
  const std::string json = to_json(comparison_value(comparison), -1);
  EXPECT_THAT(json, HasSubstr(R"({"goal":"lowest TTFT p99","row":1,"ties":[0]})"));
  std::istringstream lines(comparison_csv(comparison));
  std::vector<std::string> csv;
  for (std::string line; std::getline(lines, line);) csv.push_back(line);
  EXPECT_THAT(csv[1], HasSubstr("lowest TTFT p99"));
  EXPECT_THAT(csv[2], HasSubstr("lowest TTFT p99"));
  EXPECT_THAT(csv[3], Not(HasSubstr("lowest TTFT p99")));
}

TEST_F(CompareTest, SaysWhetherEachRowMeetsTheSloAndStarsThoseThatDo) {
  Comparison comparison;
  comparison.choices = {{"deployment.tensor_parallel", "TP", {"1", "2"}}};
  comparison.rows = {row_of("1", 50, true, false), row_of("2", 100, true, true)};
  comparison.best = best_layouts(comparison.rows, goals());
  for (const BestRun& best : comparison.best) {
    EXPECT_EQ(best.place, 1U) << best.goal() << ": TP 1 is quicker and misses";
    EXPECT_TRUE(best.ties.empty()) << best.goal();
  }
  const std::string table = comparison_table(comparison, false, 120);
  EXPECT_THAT(table, HasSubstr("92.5 % ✗"));
  EXPECT_THAT(table, HasSubstr("99.5 % ✓"));
  EXPECT_THAT(comparison_csv(comparison), HasSubstr(",slo_met,bound,"));
  EXPECT_THAT(to_json(comparison_value(comparison), -1), HasSubstr(R"("slo_met":false)"));
  if (!embedded_uplot().empty()) {
    EXPECT_THAT(
        comparison_page(comparison, "Layouts", "1.2.3"),
        HasSubstr(to_json(column_value(PageColumn::of_texts("SLO", {"missed", "met"})), -1)));
  }
  // Where none does, all are looked at, and that is said.
  comparison.rows.pop_back();
  comparison.best = best_layouts(comparison.rows, goals());
  EXPECT_FALSE(comparison.best.empty());
  EXPECT_THAT(comparison_table(comparison, false, 120), HasSubstr("no row meets the SLO"));
}

TEST_F(CompareTest, SlipsAreToldBeforeAnythingIsRun) {
  const std::vector<LayoutChoice> slips = {{"engine.scheduler", "scheduler", {"sglan", "orca"}}};
  const auto check = [](const RunRequest& request) {
    const std::string key = request.changes.front().text();
    if (key.ends_with("sglan"))
      throw ConfigError({"--set " + key}, "unknown scheduler 'sglan'; did you mean 'sglang'?",
                        Mistake::slip);
  };
  EXPECT_THROW(check_choices(slips, check), ConfigError);
  // What does not fit is a row; every value is asked once.
  int asked = 0;
  check_choices(choices, [&](const RunRequest& request) {
    ++asked;
    const std::string set = request.changes.front().text();
    if (set.ends_with("=4")) throw ConfigError({"--set " + set}, "needs 8 GPUs, and there are 4");
  });
  EXPECT_LT(asked, 6);
}

TEST_F(CompareTest, ThePageShowsWhatPricesMayMakeOfAFigure) {
  if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  const auto page_of = [](bool has_intervals) {
    Comparison comparison;
    comparison.choices = {{"deployment.tensor_parallel", "TP", {"1", "3"}}};
    for (const char* width : {"1", "3"}) {
      RunOutcome outcome{RunStatus::ran, "", made_up_report(1, 100, 40)};
      if (has_intervals) add_made_up_intervals(0.8, 1.3, outcome.report);
      comparison.rows.push_back({{{width}}, outcome});
    }
    comparison.rows[1] = {{{"3"}}, {RunStatus::infeasible, "three is odd", {}}};
    return comparison_page(comparison, "Layouts", "1.2.3");
  };
  const std::string html = page_of(true);
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  PageColumn shown = PageColumn::of_numbers("TTFT p99", "ms", 1, {80, nothing});
  shown.price_low = {64, nothing};
  shown.price_high = {104, nothing};
  EXPECT_THAT(html, HasSubstr(to_json(column_value(shown), -1)));
  EXPECT_THAT(html,
              HasSubstr(R"("notes":["TP 1: 80.0 ms (64.0–104), 100 output tokens/s per GPU"],)"
                        R"("low":[64.0],"high":[104.0])"));
  EXPECT_THAT(html, HasSubstr("square brackets are 90 % intervals (kernel-price error)"));
  EXPECT_THAT(page_of(false), Not(HasSubstr("kernel-price error")));
}

/// Five requests of six on one GPU; what became of the sixth is `other`.
ComparedLayout five_of_six(std::int64_t Report::Requests::*other) {
  ComparedLayout row{{{"1"}}, {}};
  row.outcome.report.requests = {.arrived = 6, .completed = 5};
  row.outcome.report.requests.*other = 1;
  return row;
}

std::string table_of(const ComparedLayout& row) {
  Comparison comparison;
  comparison.choices = {{"engine.preset", "preset", {"1"}}};
  comparison.rows = {row};
  comparison.best = best_layouts(comparison.rows, goals());
  return comparison_table(comparison, false, 100);
}

TEST_F(CompareTest, ARunThatLostOrRefusedRequestsIsNeverBest) {
  for (const auto& [other, said] : {std::pair(&Report::Requests::failed, "failed"),
                                    std::pair(&Report::Requests::rejected, "were rejected")}) {
    const ComparedLayout lossy = five_of_six(other);
    ComparedLayout whole = five_of_six(&Report::Requests::completed);
    whole.outcome.report.ttft_ms.p99 = 100;
    for (const BestRun& best : best_layouts({lossy, whole}, goals()))
      EXPECT_EQ(best.place, 1U) << best.goal();
    EXPECT_TRUE(best_layouts({lossy}, goals()).empty());
    EXPECT_THAT(table_of(lossy), HasSubstr(std::string("\n  ! preset 1: 1 of 6 requests ") + said +
                                           ", so it is not ranked\n"));
  }
}

TEST_F(CompareTest, ARunWhoseClientsGaveUpSaysSo) {
  const std::string table = table_of(five_of_six(&Report::Requests::timed_out));
  EXPECT_THAT(table, HasSubstr("\n  ! preset 1: 1 of 6 requests timed out\n"));
  EXPECT_THAT(table, HasSubstr("★ highest throughput"));
}

TEST_F(CompareTest, GoesOnWhereItWasStoppedAndEndsAlike) {
  std::string whole;
  {
    BackwardsRunner runner(outcome_of);
    whole = comparison_csv(compare(runner));
  }
  clear();
  {
    BackwardsRunner runner(outcome_of, 2);
    const Comparison stopped = compare(runner);
    EXPECT_FALSE(stopped.is_complete);
    EXPECT_EQ(stopped.rows.size(), 2U);
  }
  BackwardsRunner runner(outcome_of);
  EXPECT_EQ(comparison_csv(compare(runner)), whole);
  EXPECT_EQ(runner.started, 4);
}

TEST(LayoutChoices, AreAllCombinations) {
  const auto layouts = combinations(choices);
  ASSERT_EQ(layouts.size(), 6U);
  EXPECT_THAT(texts_of(layouts[3].request(choices).changes),
              ElementsAre("deployment.tensor_parallel=2", "deployment.pipeline_parallel=2"));
  try {
    (void)combinations({choices[1], {"deployment.tensor_parallel", "TP", {"1", "1"}}});
    ADD_FAILURE() << "a value may stand twice";
  } catch (const ConfigError& mistake) {
    EXPECT_STREQ(mistake.what(), "deployment.tensor_parallel: lists the value 1 twice");
  }
  EXPECT_THROW((void)combinations({{"k", "TP", {}}}), ConfigError);
  const std::vector<LayoutChoice> pools = {
      {"pools", "a:b", {"1:3", "2:2"}, {"pool.a.replicas", "pool.b.replicas"}}};
  EXPECT_EQ(texts_of(combinations(pools)[0].request(pools).changes),
            (std::vector<std::string>{"pool.a.replicas=1", "pool.b.replicas=3"}));
  EXPECT_THROW((void)combinations({{"pools", "a:b", {"1"}, {"a", "b"}}}), ConfigError);
}

TEST(ComparisonOutput, FoldsLayoutsThatFailForOneReasonAndQuotesCsv) {
  Comparison comparison;
  comparison.choices = {{"deployment.tensor_parallel", "TP", {"3", "5"}}};
  for (const char* value : {"3", "5"}) {
    comparison.rows.push_back(
        {{{value}}, {RunStatus::infeasible, "does not divide, \"sorry\"", {}}});
  }
  EXPECT_THAT(comparison_table(comparison, false, 100),
              HasSubstr("✗ TP 3 · TP 5: does not divide"));
  EXPECT_THAT(comparison_csv(comparison), HasSubstr(",\"does not divide, \"\"sorry\"\"\"\n"));
}

TEST(Bound, SaysWhatBoundsARun) {
  Report idle = made_up_report(1, 10, 10);
  idle.gpu_busy = 0.2;
  EXPECT_EQ(bound_of(idle), "traffic (GPUs 20 % busy)");
  Report full = made_up_report(1, 10, 10);
  full.kv.preemptions = 3;
  EXPECT_EQ(bound_of(full), "KV cache full");
}

}  // namespace
}  // namespace foretoken::compare_test
