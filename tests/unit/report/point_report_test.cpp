// Measured points beside simulated ones: errors of a group, the same in every output.

#include "sim/report/point_report.hpp"

#include <gmock/gmock.h>

#include "sim/base/json.hpp"
#include "sim/report/page_files.hpp"

namespace foretoken::point_report_test {
namespace {

using ::testing::HasSubstr;

/// Four test points whose TPOT is 1, 2, 5 and 10 % off and whose TTFT is exact.
PointReport four_points() {
  PointReport report;
  for (const double error : {0.01, -0.02, 0.05, -0.10}) {
    ComparedPoint& point = report.points.emplace_back();
    point.model = "llama";
    point.engine = "vllm";
    point.users = 4;
    point.measured_tpot_ms = point.measured_ttft_ms = 100;
    point.simulated_tpot_ms = 100 * (1 + error);
    point.simulated_ttft_ms = 100;
  }
  return report;
}

TEST(PointReport, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(median_size({0.01, -0.02, 0.05, -0.10}), 0.035);
  EXPECT_DOUBLE_EQ(median_size({-0.02, 0.01, 0.05}), 0.02);
  EXPECT_EQ(median_size({}), 0);
}

TEST(PointReport, EveryOutputHasTheSameMedian) {
  const PointReport report = four_points();
  EXPECT_THAT(point_text(report, false, 120, 0), HasSubstr("    3.5  "));
  EXPECT_THAT(to_json(point_value(report), -1), HasSubstr(R"("tpot_median_error":0.035,)"));
  if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  EXPECT_THAT(point_page(report, "1.2.3"),
              HasSubstr(R"("label":"TPOT, median error","value":"3.5","unit":"%")"));
}

}  // namespace
}  // namespace foretoken::point_report_test
