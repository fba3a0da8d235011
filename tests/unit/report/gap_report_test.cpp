// The diagnosis of ten points whose gaps are known.
#include "sim/report/gap_report.hpp"

#include <gmock/gmock.h>

#include "sim/base/json.hpp"

namespace foretoken {
namespace {

GapPoint point(const std::string& gpu, const std::string& source, double efficiency,
               const std::string& shape = "m 1") {
  GapPoint point;
  point.gpu = gpu;
  point.family = "moe";
  point.source = source;
  point.shape = shape;
  point.place = "folder/moe.csv:7";
  point.measured_us = 10 / efficiency;
  point.ceiling_us = 20;
  point.efficiency = efficiency;
  point.ceiling = 0.5;
  point.bound_by = "dram";
  point.pipe = "l2";
  point.waves = 1.25;
  point.imbalance = 1.5;
  return point;
}

/// Gaps of A: -0.1, 0, 0.05, 0.125, 0.25; of B: 0.025 twice.
GapReport sample() {
  GapReport report;
  for (const double efficiency : {0.6, 0.5, 0.45, 0.375, 0.25}) {
    report.points.push_back(point("a40", efficiency > 0.4 ? "x" : "y", efficiency));
  }
  report.points.push_back(point("h20", "x", 0.475));
  report.points.push_back(point("h20", "x", 0.475));
  return report;
}

TEST(GapReport, GroupsByGpuThenSource) {
  const auto groups = gap_groups(sample());
  ASSERT_EQ(groups.size(), 5);
  EXPECT_EQ(groups[0].gpu, "a40");
  EXPECT_EQ(groups[0].family, "");
  EXPECT_EQ(groups[0].points, 5);
  EXPECT_EQ(groups[0].underperforming, 2);  // 0.125 and 0.25
  EXPECT_DOUBLE_EQ(groups[0].share(), 0.4);
  EXPECT_NEAR(groups[0].median, 0.05, 1e-12);  // third of five
  EXPECT_NEAR(groups[0].p80, 0.125, 1e-12);    // fourth
  EXPECT_NEAR(groups[0].p90, 0.25, 1e-12);     // fifth
  EXPECT_EQ(groups[1].source, "x");
  EXPECT_EQ(groups[1].underperforming, 0);
  EXPECT_EQ(groups[2].source, "y");
  EXPECT_EQ(groups[2].underperforming, 2);
  EXPECT_EQ(groups[3].gpu, "h20");
  EXPECT_EQ(groups[3].underperforming, 0);
}

TEST(GapReport, AGapAtTheThresholdIsNotBeyondIt) {
  GapReport report = sample();
  report.threshold = 0.125;  // exact in binary, as 0.5 - 0.375 is
  EXPECT_EQ(gap_groups(report)[0].underperforming, 1);
  EXPECT_EQ(worst_points(report, 10).size(), 1);
}

TEST(GapReport, ListsTheWorstFirst) {
  const auto worst = worst_points(sample(), 10);
  ASSERT_EQ(worst.size(), 2);
  EXPECT_DOUBLE_EQ(worst[0].gap(), 0.25);
  EXPECT_DOUBLE_EQ(worst[1].gap(), 0.125);
  EXPECT_EQ(worst_points(sample(), 1).size(), 1);
}

TEST(GapReport, CumulativeShareCountsEqualGaps) {
  const std::vector<double> gaps = {-0.1, 0, 0, 0.5};
  EXPECT_DOUBLE_EQ(cumulative_share(gaps, -0.2), 0);
  EXPECT_DOUBLE_EQ(cumulative_share(gaps, 0), 0.75);
  EXPECT_DOUBLE_EQ(cumulative_share(gaps, 0.5), 1);
  EXPECT_DOUBLE_EQ(cumulative_share({}, 0.5), 0);
}

TEST(GapReport, TextNamesWhoUnderperforms) {
  const std::string text = gap_text(sample(), {});
  EXPECT_THAT(text, testing::HasSubstr("2 (28.6 %) are more than 0.10"));
  EXPECT_THAT(text, testing::ContainsRegex("a40 +all +5 +2 +40\\.0 %"));
  EXPECT_THAT(text,
              testing::ContainsRegex("0\\.250 +40\\.0 +20\\.0 +a40 +dram +l2 +1\\.25 +1\\.50"));
  EXPECT_THAT(text, testing::HasSubstr("moe.csv:7"));
}

TEST(GapReport, TextOfNothingSaysWhy) {
  GapReport report;
  report.without_ceiling = 3;
  report.without_ceiling_why = "no ceiling for sampling";
  EXPECT_THAT(gap_text(report, {}), testing::HasSubstr("3 excluded: no ceiling for sampling"));
}

TEST(GapReport, CsvQuotesShapes) {
  GapReport report;
  report.points = {point("a40", "x", 0.25, "8 heads, \"1\" decode")};
  EXPECT_EQ(
      gap_csv(report).substr(gap_csv(report).find('\n') + 1),
      "a40,moe,x,\"8 heads, \"\"1\"\" decode\",folder/moe.csv:7,40,20,0.25,0.5,0.25,1,dram,l2,"
      "1.25,1.5,0\n");
}

TEST(GapReport, JsonHoldsGroupsAndWorst) {
  const Value value = gap_value(sample(), 1);
  const auto& groups = std::get<ValueArray>(value.find("groups")->data);
  EXPECT_EQ(groups.size(), 5);
  EXPECT_EQ(groups[0].find("family"), nullptr);
  const auto& worst = std::get<ValueArray>(value.find("worst")->data);
  ASSERT_EQ(worst.size(), 1);
  EXPECT_EQ(std::get<double>(worst[0].find("gap")->data), 0.25);
  const auto& distribution = std::get<ValueArray>(value.find("distribution")->data);
  EXPECT_EQ(distribution.size(), 51);
}

TEST(GapReport, SvgHasALineAndABarAGpu) {
  GapReport report = sample();
  report.points.push_back(point("x<&>", "x", 0.475));
  const std::string svg = gap_svg(report);
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<polyline"), 3);
  EXPECT_EQ(count("<rect"), 1 + 3);  // the background too
  EXPECT_THAT(svg, testing::HasSubstr("x&lt;&amp;&gt;"));
  EXPECT_THAT(svg, testing::HasSubstr("2 of 5 (40.0 %)"));
}

}  // namespace
}  // namespace foretoken
