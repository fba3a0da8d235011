// Sweeps with a runner that makes up its outcomes: order, means over seeds, intervals, the best,
// what a stop leaves behind and how two sweeps share a store.

#include "sim/planner/sweep/sweep.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/base/json.hpp"
#include "sim/planner/wanted_runs.hpp"
#include "sim/report/page_column.hpp"
#include "sim/report/page_files.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/planner/backwards_runner.hpp"
#include "tests/unit/planner/made_up_report.hpp"

namespace foretoken::sweep_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// TTFT p50 is x + seed; x = 4 cannot be, x = 5 breaks.
RunOutcome outcome_of(const RunRequest& request) {
  const int x = std::stoi(request.changes[0].value_text());
  const auto seeded = std::ranges::find(request.changes, "run.seed", &Change::key);
  const int seed = seeded == request.changes.end() ? 0 : std::stoi(seeded->value_text());
  if (x == 4) return {RunStatus::infeasible, "four is too many", {}};
  if (x == 5) return {RunStatus::failed, "ended by a signal", {}};
  return {RunStatus::ran, "", made_up_report(1, 100 * x, x + seed)};
}

class SweepTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  void clear() { std::filesystem::remove_all(path_); }

  RunStore store(const SweepPlan& plan, const std::string& owner = "a") {
    RunStore store(path_, "q");
    store.want(plan.requests(), {owner, "here", 60, [this] { return now_ += 1; },
                                 [](const std::string&) { return false; }});
    return store;
  }
  bool run(const SweepPlan& plan, ScenarioRunner& runner, RunStore& to) {
    return run_wanted(plan.requests(), runner, to,
                      {[this](double) { return --patience_ > 0; }, {}});
  }

  double now_ = 1000;
  int patience_ = 10;

 private:
  std::filesystem::path path_ = own_folder() / "sweep";
};

SweepPlan five(std::size_t seeds) {
  return plan_sweep({{"a.x", {"1", "2", "3", "4", "5"}}}, Combination::cartesian, seeds, 1);
}

TEST_F(SweepTest, RowsStandInTheOrderOfThePlanWhateverFinishesFirst) {
  const SweepPlan plan = five(0);
  BackwardsRunner runner(outcome_of);
  RunStore runs = store(plan);
  EXPECT_TRUE(run(plan, runner, runs));
  const SweepResult result = sweep_result(plan, runs);
  EXPECT_TRUE(result.is_complete());
  EXPECT_EQ(sweep_csv(result).substr(0, 40), "run,a.x,status,gpus,replicas,ttft_p50_ms");
  EXPECT_THAT(sweep_csv(result), HasSubstr("\n2,3,ran,1,1,3,6,"));
  EXPECT_THAT(sweep_csv(result), HasSubstr("\n3,4,infeasible,,,,,,,,,,,,,four is too many\n"));
  EXPECT_THAT(sweep_csv(result), HasSubstr("\n4,5,failed,,,,,,,,,,,,,ended by a signal\n"));
}

TEST_F(SweepTest, MeansAndIntervalsAreOverTheSeeds) {
  // x + {1, 2, 3}: mean x + 2, deviation 1, t(0.975, 2) = 4.302653, so 4.302653 / sqrt(3).
  const SweepPlan plan = five(3);
  BackwardsRunner runner(outcome_of);
  RunStore runs = store(plan);
  EXPECT_TRUE(run(plan, runner, runs));
  const SweepResult result = sweep_result(plan, runs);
  const auto interval = result.interval(1, figure_named("ttft_p50_ms"));
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->mean, 4.0);
  EXPECT_NEAR(*interval->half_width, 2.484138, 1e-6);
  EXPECT_FALSE(result.interval(3, figure_named("ttft_p50_ms")));
  ASSERT_FALSE(result.best.empty());
  EXPECT_EQ(result.best[0].goal(), "lowest TTFT p99");
  EXPECT_EQ(result.best[0].place, 0U);
  EXPECT_THAT(result.best[0].ties, ElementsAre(1, 2));  // 6 ± 5, 8 ± 5 and 10 ± 5
  EXPECT_EQ(result.best[2].goal(), "highest throughput");
  EXPECT_EQ(result.best[2].place, 2U);
  EXPECT_TRUE(result.best[2].ties.empty());  // all seeds give the same
  const std::string table = sweep_table(result, false, 160, 60);
  EXPECT_THAT(table, HasSubstr("8.00 ±4.97"));
  EXPECT_THAT(table, HasSubstr("★ lowest TTFT p99             x 1  tied with 2 others"));
  EXPECT_THAT(table, HasSubstr("✗ x 4: four is too many"));
  EXPECT_THAT(sweep_table(result, false, 160, 2), HasSubstr("… and 1 more"));
}

TEST_F(SweepTest, PricesStandBesideTheSeeds) {
  // TTFT p50 x + {1, 2, 3} again, and prices that leave 20 % less to 30 % more of it.
  const SweepPlan plan = plan_sweep({{"a.x", {"1"}}}, Combination::cartesian, 3, 1);
  BackwardsRunner runner([](const RunRequest& request) {
    RunOutcome outcome = outcome_of(request);
    add_made_up_intervals(0.8, 1.3, outcome.report);
    return outcome;
  });
  RunStore runs = store(plan);
  EXPECT_TRUE(run(plan, runner, runs));
  const SweepResult result = sweep_result(plan, runs);
  const FigureInterval prices = *result.price_interval(0, figure_named("ttft_p50_ms"));
  EXPECT_NEAR(prices.low, 2.4, 1e-9);  // of the mean, 3
  EXPECT_NEAR(prices.high, 3.9, 1e-9);
  EXPECT_FALSE(result.price_interval(0, figure_named("gpus")));
  // Chance: t(0.95, 2) = 2.919986 times 1 / sqrt(3) is 1.685855; prices 0.6 below and 0.9 above.
  const FigureInterval both = result.interval_90(0, figure_named("ttft_p50_ms"));
  EXPECT_NEAR(both.low, 3 - std::hypot(1.685855, 0.6), 1e-5);
  EXPECT_NEAR(both.high, 3 + std::hypot(1.685855, 0.9), 1e-5);
  EXPECT_THAT(sweep_csv(result), HasSubstr(",reason,ttft_p50_ms_low,ttft_p50_ms_high,"));
  EXPECT_THAT(sweep_csv(result), HasSubstr(",,1.6,2.6,"));  // no reason; 2 * 0.8, 2 * 1.3
  EXPECT_THAT(to_json(sweep_value(result), -1), HasSubstr("\"prices_90\":[2.4,3.9]"));
  EXPECT_THAT(sweep_table(result, false, 160, 60), HasSubstr("6.00 ±4.97 ~1.50"));  // p99
  if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  // Of p99, whose mean is 6 and has no decimals: seeds 4.97, prices 4.8 to 7.8, and together from
  // 6 - hypot(3.37, 1.2) to 6 + hypot(3.37, 1.8).
  PageColumn shown = PageColumn::of_numbers("TTFT p99", "ms", 0, {6});
  shown.low = {1};
  shown.high = {11};
  shown.price_low = {5};
  shown.price_high = {8};
  const std::string html = sweep_page(result, "Sweep", "", "1.2.3");
  EXPECT_THAT(html, HasSubstr(to_json(column_value(shown), -1)));  // the table of points
  shown.low = {2};
  shown.high = {10};
  shown.price_low = shown.price_high = {};
  EXPECT_THAT(html, HasSubstr(to_json(column_value(shown), -1)));  // the figures' whiskers
  EXPECT_THAT(html, HasSubstr("90 % intervals from seeds and kernel-price error together"));
  EXPECT_THAT(html, HasSubstr("in square ones 90 % intervals (kernel-price error)"));
}

TEST_F(SweepTest, GoesOnWhereItWasStoppedAndEndsAlike) {
  const SweepPlan plan = five(2);
  std::string whole;
  {
    BackwardsRunner runner(outcome_of);
    RunStore runs = store(plan);
    EXPECT_TRUE(run(plan, runner, runs));
    whole = to_json(sweep_value(sweep_result(plan, runs)));
  }
  clear();
  {
    BackwardsRunner runner(outcome_of, 4);
    RunStore runs = store(plan);
    EXPECT_FALSE(run(plan, runner, runs));
    EXPECT_EQ(runs.counts().finished, 4U);
    EXPECT_EQ(runs.counts().leased, 0U);
    EXPECT_FALSE(sweep_result(plan, runs).is_complete());
  }
  BackwardsRunner runner(outcome_of);
  RunStore runs = store(plan, "b");
  EXPECT_TRUE(run(plan, runner, runs));
  EXPECT_EQ(runner.started, 6);
  EXPECT_EQ(to_json(sweep_value(sweep_result(plan, runs))), whole);
}

TEST_F(SweepTest, WaitsForWhatOthersAreAt) {
  const SweepPlan plan = five(0);
  RunStore other = store(plan, "other");
  EXPECT_THAT(other.take(1), ElementsAre(0));
  BackwardsRunner runner(outcome_of);
  RunStore runs = store(plan);
  EXPECT_FALSE(run(plan, runner, runs));  // until the user has enough
  EXPECT_EQ(runs.counts().finished, 4U);
  now_ += 60;  // the other is dead
  patience_ = 10;
  EXPECT_TRUE(run(plan, runner, runs));
  EXPECT_EQ(runner.started, 5);
}

TEST_F(SweepTest, RenewsItsLeasesWhileRunsFinish) {
  const SweepPlan plan = five(9);  // 45 runs; every look at the clock takes a second
  RunStore other = store(plan, "other");
  class Thief final : public ScenarioRunner {
   public:
    Thief(BackwardsRunner& runner, RunStore& store) : runner_(runner), store_(store) {}
    [[nodiscard]] std::size_t slots() const override { return 3; }
    void start(std::size_t ticket, const RunRequest& request) override {
      runner_.start(ticket, request);
    }
    std::optional<Finished> wait() override {
      // The first run stays for long; nobody may take it.
      for (const std::size_t run : store_.take(1)) stolen = stolen || run == 0;
      return runner_.wait();
    }
    bool stolen = false;

   private:
    BackwardsRunner& runner_;
    RunStore& store_;
  };
  BackwardsRunner runner(outcome_of);
  Thief thief(runner, other);
  RunStore runs = store(plan);
  (void)run(plan, thief, runs);
  EXPECT_FALSE(thief.stolen);
}

TEST(SeedInterval, IsStudentsT) {
  // 10 and 14: mean 12, standard error 2, t(0.975, 1) = 12.7062047.
  const double two[] = {10, 14};
  EXPECT_DOUBLE_EQ(seed_interval(two).mean, 12);
  EXPECT_NEAR(*seed_interval(two).half_width, 25.4124095, 1e-6);
  const double one[] = {3};
  EXPECT_FALSE(seed_interval(one).half_width);
  EXPECT_TRUE((SeedInterval{10, 1.0}).overlaps({12, 1.0}));
  EXPECT_FALSE((SeedInterval{10, 1.0}).overlaps({12.5, 1.0}));
  EXPECT_FALSE((SeedInterval{10, {}}).overlaps({10.5, {}}));
}

TEST_F(SweepTest, PageHoldsPointsRunsAndFailures) {
  if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  const SweepPlan plan =
      plan_sweep({{"a.x", {"1", "2", "4", "5"}}, {"cluster.name", {"h200-sxm-1"}}},
                 Combination::cartesian, 2, 1);
  BackwardsRunner runner(outcome_of);
  RunStore runs = store(plan);
  EXPECT_TRUE(run(plan, runner, runs));
  const std::string html =
      sweep_page(sweep_result(plan, runs), "Sweep of a.toml", "[a]\nx = 1\n", "1.2.3");
  EXPECT_THAT(html, HasSubstr(R"("label":"Runs","value":"4","unit":"of 8",)"
                              R"("note":"4 points · 2 seeds each")"));
  EXPECT_THAT(html, HasSubstr(R"("label":"Failed","value":"2")"));
  EXPECT_THAT(html, HasSubstr(R"({"name":"x","unit":"","values":["1","2","4","5"],)"));
  EXPECT_THAT(html,
              HasSubstr(R"({"name":"cluster","unit":"","values":["h200-sxm-1"],"numbers":[])"));
  EXPECT_THAT(html, HasSubstr("x 4, cluster h200-sxm-1: four is too many"));
  EXPECT_THAT(html, HasSubstr(R"("texts":["failed","infeasible","ran"])"));
  EXPECT_THAT(html, HasSubstr(R"("texts":["","ended by a signal","four is too many"])"));
  EXPECT_THAT(html, HasSubstr(R"({"kind":"table","name":"point","rows":2)"));
  EXPECT_THAT(html, HasSubstr(R"({"kind":"table","name":"run","rows":8)"));
}

TEST(SweepPage, ReadsKeysAsNumbersOfOneUnit) {
  if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  SweepResult result;
  result.plan = plan_sweep({{"a.rate", {"4 /s", "0.5 /s"}},
                            {"a.delay", {"500 ms", "2 s"}},
                            {"a.kind", {"4 kinds", "none"}}},
                           Combination::cartesian, 0, 1);
  result.runs = {{0, {RunStatus::ran, "", made_up_report(1, 100, 5)}}};
  const std::string html = sweep_page(result, "Sweep", "", "1.2.3");
  EXPECT_THAT(html, HasSubstr(R"({"name":"rate","unit":"/s","values":["4 /s","0.5 /s"],)"
                              R"("numbers":[4.0,0.5])"));
  EXPECT_THAT(html, HasSubstr(R"({"name":"delay","unit":"s","values":["500 ms","2 s"],)"
                              R"("numbers":[0.5,2.0])"));
  EXPECT_THAT(html, HasSubstr(R"("values":["4 kinds","none"],"numbers":[])"));
}

TEST(SweepPage, OfVeryManyRunsStaysSmallAndSaysSo) {
  if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  SweepResult result;
  VariedKey x{"a.x", {}}, y{"a.y", {}};
  for (int i = 0; i < 100; ++i) {
    x.values.push_back(fmt::format("{}", i));
    y.values.push_back(fmt::format("{}", 2 * i));
  }
  result.plan = plan_sweep({x, y}, Combination::cartesian, 3, 1);
  for (std::uint32_t run = 0; run < 30'000; ++run) {
    // Numbers without any pattern: 2654435761 is 2^32 over the golden ratio.
    const double mixed = static_cast<double>(run * 2654435761U) / 4294967296.0;
    Report report = made_up_report(1, 100, 5);
    report.slo.targets = {"ttft <= 1 s"};
    for (const Figure& figure : figures()) {
      const bool is_drawn = figure.use == FigureUse::runs && figure.slot;
      if (is_drawn && figure.kind != FigureKind::share) *figure.slot(report) = 1 + mixed * 100'000;
    }
    result.runs.push_back({run, {RunStatus::ran, "", std::move(report)}});
  }
  const std::string html = sweep_page(result, "Sweep", "", "1.2.3");
  EXPECT_LT(html.size(), 5'000'000U);
  EXPECT_THAT(html, HasSubstr("The first 3,000 of 10,000 points; --csv has all."));
  EXPECT_THAT(html, HasSubstr("The first 20,000 of 30,000 runs; --csv has all."));
  for (SweptRun& run : result.runs) {
    Report& report = run.outcome.report;
    report.intervals.emplace();
    for (const double value : figure_values(report))
      report.intervals->figures.push_back({0.9 * value, 1.1 * value});
  }
  const std::string bounded = sweep_page(result, "Sweep", "", "1.2.3");
  EXPECT_LT(bounded.size(), 5'000'000U);
  EXPECT_THAT(bounded, HasSubstr("The first 10,000 of 30,000 runs; --csv has all."));
}

}  // namespace
}  // namespace foretoken::sweep_test
