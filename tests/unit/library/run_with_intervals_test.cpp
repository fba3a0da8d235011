// Intervals of whole runs. A process can simulate once: one run a test, the others in children.

#include <gmock/gmock.h>

#include "sim/library/foretoken.hpp"
#include "sim/report/figures.hpp"
#include "sim/run/price_edge.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken {
namespace {

Report run(const std::vector<std::string>& overrides) {
  return run_with_intervals(scenario_from(busy_pipelines, overrides));
}

/// Width of an interval over the figure, of a run in a child.
double width(const std::string& table, const std::string& name,
             const std::vector<std::string>& overrides) {
  return in_child([&] {
           const Report report = run(overrides);
           const FigureInterval interval = *interval_of(report, table, name);
           for (const Figure& figure : figures()) {
             if (figure.place == table + "." + name && !figure.is_per_gpu)
               return (interval.high - interval.low) / figure.value(report);
           }
           return -1.0;
         })
      .value();
}

TEST(RunWithIntervals, EveryFigureLiesInItsInterval) {
  const Report report = run({"run.intervals=simulate"});
  ASSERT_TRUE(report.intervals && report.intervals->is_simulated);
  const std::vector<double> values = figure_values(report);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(report.intervals->figures[i].low, values[i]) << figures()[i].name;
    EXPECT_GE(report.intervals->figures[i].high, values[i]) << figures()[i].name;
  }
  const FigureInterval tpot = *interval_of(report, "tpot_ms", "mean");
  EXPECT_GT(tpot.high, 1.02 * report.tpot_ms.mean);
  EXPECT_LT(tpot.low, 0.98 * report.tpot_ms.mean);
}

TEST(RunWithIntervals, TheEstimateIsOfTheSameSize) {
  for (const char* figure : {"mean", "p50"}) {
    const double estimated = width("tpot_ms", figure, {});
    const double simulated = width("tpot_ms", figure, {"run.intervals=simulate"});
    EXPECT_GT(estimated, 0.5 * simulated) << figure;
    EXPECT_LT(estimated, 2.0 * simulated) << figure;
  }
}

TEST(RunWithIntervals, AreWiderWhereNobodyMeasured) {
  // The same hardware to the last digit, but of a kind that nobody sells.
  for (const char* source : {"estimate", "simulate"}) {
    const std::string intervals = std::string("run.intervals=") + source;
    EXPECT_GT(width("tpot_ms", "mean", {intervals, "cluster.scale.dram_bandwidth=1"}),
              1.2 * width("tpot_ms", "mean", {intervals}))
        << source;
  }
}

TEST(RunWithIntervals, ChangeNothingElse) {
  const auto fingerprint = [](const char* source) {
    return in_child([&] {
      const Report report = run({std::string("run.intervals=") + source});
      return static_cast<double>(report.event_fingerprint >> 12);
    });
  };
  const auto none = fingerprint("none");
  ASSERT_TRUE(none);
  EXPECT_EQ(fingerprint("estimate"), none);
  EXPECT_EQ(fingerprint("simulate"), none);
}

// 60 requests a second are more than the GPU can do, half a request a second is nothing.
TEST(RunWithIntervals, DecideByThemselvesWhetherAQueueMayTipOver) {
  const auto is_simulated = [](const std::string& rate) {
    return in_child([&] {
      const Report report = run_with_intervals(scenario_from(
          "[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = \"h200-sxm-1\"\n[workload]\n"
          "arrivals = \"poisson\"\nrate = \"" +
          rate + "\"\nrequests = 300\nprompt_tokens = 1000\noutput_tokens = 200\n"));
      return report.intervals->is_simulated ? 1.0 : 0.0;
    });
  };
  EXPECT_EQ(is_simulated("60 /s"), 1.0);
  EXPECT_EQ(is_simulated("0.5 /s"), 0.0);
}

TEST(RunWithIntervals, AreLeftOutOnRequest) { EXPECT_FALSE(run({"run.intervals=none"}).intervals); }

TEST(PriceEdge, StretchesEveryFamilyByItsOwnError) {
  const Scenario scenario = scenario_from(busy_pipelines, {"predictor.stretch.gemm=2"});
  const Scenario longest = at_edge(scenario, PriceEdge::longest);
  const Scenario shortest = at_edge(scenario, PriceEdge::shortest);
  const double errors = errors_in_half_width(interval_confidence);
  const PricedBy by = priced_by(scenario);
  EXPECT_EQ(by.gpu, "h200-sxm");
  EXPECT_EQ(by.predictor, "synperf");
  EXPECT_EQ(by.dtype, "bf16");
  const double gemm = 1 + errors * family_error(by, "gemm");
  EXPECT_DOUBLE_EQ(stretch_of(longest, "gemm"), 2 * gemm);
  EXPECT_DOUBLE_EQ(stretch_of(shortest, "gemm"), 2 / gemm);
  EXPECT_DOUBLE_EQ(stretch_of(longest, "communication"),
                   1 + errors * family_error(by, "all_reduce"));
  EXPECT_DOUBLE_EQ(stretch_of(longest, "host"), 1 + errors * family_error(by, "host"));
}

}  // namespace
}  // namespace foretoken
