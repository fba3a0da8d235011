// The diagnosis as a person reads it: who underperforms, how gaps are spread, which points are
// worst.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/charts.hpp"
#include "sim/report/gap_columns.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

constexpr auto chart_gaps = std::to_array<double>({0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5});
constexpr int bar_columns = 50;

std::string summary(const GapReport& report, const Ink& ink) {
  const auto below = std::ranges::count_if(
      report.points, [&](const GapPoint& point) { return point.gap() > report.threshold; });
  const double share = report.points.empty()
                           ? 0
                           : static_cast<double>(below) / static_cast<double>(report.points.size());
  std::string text = fmt::format(
      "{} compared with the ceiling that the best fifth of comparable launches reach\n"
      "{} ({}) are more than {:.2f} in efficiency below it\n",
      counted(static_cast<std::int64_t>(report.points.size()), "measured point"),
      ink.strong(grouped(below)), percent(share), report.threshold);
  if (report.without_ceiling > 0) {
    text += ink.quiet(fmt::format("{} excluded: {}\n", grouped(report.without_ceiling),
                                  report.without_ceiling_why));
  }
  return text;
}

std::string distribution(const GapReport& report, const Ink& ink) {
  std::vector<double> gaps;
  for (const GapPoint& point : report.points) gaps.push_back(point.gap());
  std::ranges::sort(gaps);
  std::vector<double> steps(chart_gaps.begin(), chart_gaps.end());
  if (std::ranges::find(steps, report.threshold) == steps.end()) {
    steps.push_back(report.threshold);
    std::ranges::sort(steps);
  }
  std::string text;
  for (const double step : steps) {
    const double share = cumulative_share(gaps, step);
    text +=
        fmt::format("  gap <= {:.2f}  {}  {:>7}{}\n", step,
                    padded(ink.chart(bar(share, bar_columns)), bar_columns, Align::left),
                    percent(share), step == report.threshold ? "  beyond: underperforming" : "");
  }
  return text;
}

std::string worst_table(const GapReport& report, const std::vector<GapPoint>& points,
                        const TextTable::Layout& layout) {
  // Under each line of the table, what was launched.
  const Ink ink(layout.colour);
  const std::string lines = gap_point_columns(report, points).terminal("").text(layout);
  std::size_t begin = lines.find('\n') + 1;  // behind the header
  std::string text = lines.substr(0, begin);
  for (const GapPoint& point : points) {
    const std::size_t end = lines.find('\n', begin) + 1;
    const std::string launched = fmt::format("         {}: {}", point.source, point.shape);
    text += lines.substr(begin, end - begin) + ink.quiet(fitted(launched, layout.width)) + "\n";
    begin = end;
  }
  return text;
}

}  // namespace

std::string gap_text(const GapReport& report, const GapTextOptions& options) {
  const Ink ink(options.colour);
  const TextTable::Layout layout{.width = options.width, .colour = options.colour};
  std::string text = summary(report, ink);
  if (report.points.empty()) return text;
  text +=
      fmt::format("\n{}\n{}\n{}", gap_group_columns(report, ink).terminal("").text(layout),
                  ink.strong("Share of points with at most this gap"), distribution(report, ink));
  const auto worst = worst_points(report, options.worst);
  if (worst.empty()) return text;
  text += fmt::format("\n{}{}\n{}", ink.strong("Worst points"),
                      ink.quiet("  tail: busiest SM / mean SM on its busiest pipe"),
                      worst_table(report, worst, layout));
  return text;
}

}  // namespace foretoken
