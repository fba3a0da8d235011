// The page of many measured points beside simulated ones: each figure against the other by model
// and engine, and all points in a table.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"
#include "sim/report/point_statistics.hpp"

namespace foretoken {
namespace {

void add_point_scatter(ReportPage& page, const PointReport& report, const char* name,
                       double ComparedPoint::*measured, double ComparedPoint::*simulated) {
  std::map<std::string, PageSeries> groups;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const ComparedPoint& point : report.points) {
    if (!point.failure.empty() || !(point.*measured > 0) || !(point.*simulated > 0)) continue;
    PageSeries& series = groups[point.model + ", " + point.engine];
    series.kind = PageSeries::Kind::points;
    series.x.push_back(point.*measured);
    series.y.push_back(point.*simulated);
    series.size.push_back(0.04);
    series.notes.push_back(
        fmt::format("{} · {}, {} · {} users, {} + {} tokens: {} simulated, {} ms measured",
                    point.model, point.engine, point.layout, point.users, point.prompt_tokens,
                    point.output_tokens, brief(point.*simulated), brief(point.*measured)));
    low = std::min({low, point.*measured, point.*simulated});
    high = std::max({high, point.*measured, point.*simulated});
  }
  PageChart chart;
  chart.title = fmt::format("{}, measured and simulated", name);
  chart.x = {fmt::format("measured mean {}, ms", name), true};
  chart.y = {fmt::format("simulated, ms"), true};
  if (!groups.empty()) {
    chart.series.push_back({"equal", PageSeries::Kind::line, {low, high}, {low, high}});
  }
  for (auto& [group, series] : groups) {
    series.name = group;
    chart.series.push_back(std::move(series));
  }
  page.chart(chart);
}

}  // namespace

std::string point_page(const PointReport& report, const std::string& version) {
  ReportPage page("Measured servers and their simulation", "validation", version);
  std::vector<double> ttft, tpot;
  std::vector<std::string> notes;
  for (const ComparedPoint& point : report.points) {
    if (point.failure.empty() && !point.is_calibration) {
      ttft.push_back(point.ttft_error());
      tpot.push_back(point.tpot_error());
    }
  }
  for (const auto& [reason, rows] : report.failures()) {
    notes.push_back(fmt::format("{} not simulated: {}{}", counted(rows.count, "point"), reason,
                                rows.place_text()));
  }
  for (const auto& [reason, rows] : report.reasons_left_out()) {
    notes.push_back(
        fmt::format("{} excluded: {}{}", counted(rows.count, "row"), reason, rows.place_text()));
  }
  page.tiles({{"TPOT, median error", fmt::format("{:.1f}", 100 * median_size(tpot)), "%",
               counted(std::ssize(tpot), "test point")},
              {"TTFT, median error", fmt::format("{:.1f}", 100 * median_size(ttft)), "%",
               "settings were calibrated on other points"}});
  page.section("Points");
  add_point_scatter(page, report, "TPOT", &ComparedPoint::measured_tpot_ms,
                    &ComparedPoint::simulated_tpot_ms);
  add_point_scatter(page, report, "TTFT", &ComparedPoint::measured_ttft_ms,
                    &ComparedPoint::simulated_ttft_ms);
  ComparedPoints points;
  for (const ComparedPoint& point : report.points) points.push_back(&point);
  page.table("point", point_columns(points).page());
  page.notes(notes);
  return page.html();
}

}  // namespace foretoken
