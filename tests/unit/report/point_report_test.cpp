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

TEST(PointReport, UnclearPointsStandApart) {
  PointReport report = four_points();
  report.points[3].is_unclear = true;
  report.points[3].is_calibration = true;
  const std::string text = point_text(report, false, 120, 0);
  EXPECT_THAT(text, HasSubstr("unclear"));
  EXPECT_THAT(text, HasSubstr("test points with them: TPOT 3.5 %, TTFT 0.0 %"));
  EXPECT_THAT(to_json(point_value(report), -1), HasSubstr(R"("part":"unclear")"));
}

TEST(PointReport, TheScoreboardCountsEveryPointOnce) {
  PointReport report = four_points();
  for (ComparedPoint& point : report.points) point.gpu = "h200-sxm";
  report.points[0].users = 300;
  report.points[0].table = "nightlies";
  report.points[1].is_calibration = true;
  report.points[2].is_unclear = true;
  report.left_out.push_back({"a", 1, "the same run appears twice"});
  const std::string page = point_scoreboard(report);
  EXPECT_THAT(page, HasSubstr("| test | 2 | "));
  EXPECT_THAT(page, HasSubstr(" | - | 0 | 0 | +0 | - |\n"));
  EXPECT_THAT(page, HasSubstr("| test and unclear | 3 | 5 |"));
  EXPECT_THAT(page, HasSubstr("| unclear | 1 | 5 |"));
  EXPECT_THAT(page, HasSubstr("| calibration | 1 | 2 |"));
  EXPECT_THAT(page, HasSubstr("| nightlies | 1 | 1 |"));
  EXPECT_THAT(page, HasSubstr("| llama, vllm | 2 |"));
  EXPECT_THAT(page, HasSubstr("| h200-sxm | 2 |"));
  EXPECT_THAT(page, HasSubstr("|    1 to 4 | 1 | 10 |"));
  EXPECT_THAT(page, HasSubstr("|  257 and more | 1 | 1 |"));
  EXPECT_THAT(page, HasSubstr("- 1 row excluded: the same run appears twice\n"));
}

}  // namespace
}  // namespace foretoken::point_report_test
