// Intervals of a report's figures: from runs at the edges, by name, through report.json.

#include <gmock/gmock.h>

#include "sim/report/figures.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

/// The sample with times `low` and `high` times as long at the edges.
Report with_intervals(double low, double high) {
  Report report = sample_report(), fast = report, slow = report;
  fast.ttft_ms.p50 *= low;
  slow.ttft_ms.p50 *= high;
  fast.throughput.output_tokens_per_s /= low;
  slow.throughput.output_tokens_per_s /= high;
  report.intervals = {
      true, intervals_over(figure_values(report), {figure_values(fast), figure_values(slow)})};
  return report;
}

TEST(FigureInterval, ReachesFromTheFigureToTheEdges) {
  const Report report = with_intervals(0.8, 1.25);
  const FigureInterval ttft = *interval_of(report, "ttft_ms", "p50");
  EXPECT_DOUBLE_EQ(ttft.low, 48.3 * 0.8);
  EXPECT_DOUBLE_EQ(ttft.high, 48.3 * 1.25);
  const FigureInterval rate = *interval_of(report, "throughput", "output_tokens_per_s");
  EXPECT_DOUBLE_EQ(rate.low, 100.0 / 3 / 1.25);
  EXPECT_DOUBLE_EQ(rate.high, 100.0 / 3 / 0.8);
  const FigureInterval same = *interval_of(report, "tpot_ms", "p99");
  EXPECT_EQ(same.low, 8);
  EXPECT_EQ(same.high, 8);
}

TEST(FigureInterval, HoldsTheFigureEvenIfBothEdgesLieOnOneSide) {
  for (const double edge : {0.5, 2.0}) {
    const Report report = with_intervals(edge, edge);
    for (std::size_t i = 0; i < figures().size(); ++i) {
      const double value = figures()[i].value(report);
      EXPECT_LE(report.intervals->figures[i].low, value) << figures()[i].name;
      EXPECT_GE(report.intervals->figures[i].high, value) << figures()[i].name;
    }
  }
}

TEST(FigureInterval, NoErrorIsNoWidth) {
  const Report report = with_intervals(1, 1);
  for (const FigureInterval& interval : report.intervals->figures)
    EXPECT_EQ(interval.low, interval.high);
}

TEST(FigureInterval, GoesThroughTheReport) {
  const Report read = read_report(report_value(with_intervals(0.8, 1.25)));
  const FigureInterval ttft = *interval_of(read, "ttft_ms", "p50");
  EXPECT_NEAR(ttft.low, 48.3 * 0.8, 1e-6);
  EXPECT_NEAR(ttft.high, 48.3 * 1.25, 1e-6);
  const FigureInterval each = *interval_of(read, figure_named("output_tokens_per_s_gpu"));
  EXPECT_NEAR(each.low, 100.0 / 3 / 1.25 / 2, 1e-6) << "of two GPUs";
  EXPECT_FALSE(interval_of(read_report(report_value(sample_report())), "ttft_ms", "p50"));
  EXPECT_FALSE(interval_of(sample_report(), "ttft_ms", "p50"));
  EXPECT_THROW((void)interval_of(with_intervals(1, 1), "ttft_ms", "p42"), InternalError);
}

TEST(FigureInterval, StandsBelowTheLatencies) {
  const std::string table = report_table(with_intervals(0.8, 1.25), false, 100);
  EXPECT_THAT(table, HasSubstr("90 % interval"));
  EXPECT_THAT(table, HasSubstr("TTFT p50 38.6–60.4, p99 62.0–62.0 ms"));
  EXPECT_THAT(table, HasSubstr("26.7–41.7 output tokens/s"));
  EXPECT_THAT(report_table(sample_report(), false, 100),
              ::testing::Not(HasSubstr("90 % interval")));
  Report report = with_intervals(0.8, 1.25);
  report.requests.completed = 0;  // intervals of nothing: "step-time uncertainty ±0.0 %"
  EXPECT_THAT(report_table(report, false, 100), ::testing::Not(HasSubstr("90 % interval")));
}

// Independent errors add in squares: never narrower than either, and with equal sides.
TEST(FigureInterval, OfAServerIsWiderThanOfItsPrices) {
  const double server = server_half_width("ttft_ms", interval_confidence);
  const FigureInterval alone = of_server({100, 100}, 100, "ttft_ms");
  EXPECT_NEAR(alone.high, 100 * std::exp(server), 1e-9);
  EXPECT_NEAR(alone.low, 100 / std::exp(server), 1e-9);
  const FigureInterval both =
      of_server({100 / std::exp(server), 100 * std::exp(server)}, 100, "ttft_ms");
  EXPECT_NEAR(both.high, 100 * std::exp(server * std::sqrt(2)), 1e-9);
  EXPECT_LT(of_server({100, 100}, 100, "tpot_ms").high, alone.high);
  EXPECT_EQ(of_server({0, 0}, 0, "ttft_ms").high, 0) << "nothing was measured";
}

}  // namespace
}  // namespace foretoken
