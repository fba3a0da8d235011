// The diagnosis as one picture (the paper's Figure 7): how gaps are spread on each GPU, and how
// many of its points underperform. Plain SVG, nothing to load.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/report/gap_report.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/svg.hpp"

namespace foretoken {
namespace {

// Pixels.
constexpr double plot_left = 60, plot_top = 50, plot_width = 420, plot_height = 280;
constexpr double bars_left = 660, bar_height = 18, bar_step = 30, bars_width = 220;
constexpr double picture_width = 1000;

constexpr double gap_axis_min = 0.2;  // the horizontal axis reaches at least this far

using GapsByGpu = std::map<std::string, std::vector<double>>;

GapsByGpu sorted_gaps(const GapReport& report) {
  GapsByGpu gaps;
  for (const GapPoint& point : report.points) gaps[point.gpu].push_back(point.gap());
  for (auto& [gpu, values] : gaps) std::ranges::sort(values);
  return gaps;
}

/// So far right that 99 % of every GPU's points are shown, rounded up to a tenth.
double axis_end(const GapsByGpu& gaps) {
  double end = gap_axis_min;
  for (const auto& [gpu, values] : gaps) {
    end = std::max(end, values[(values.size() - 1) * 99 / 100]);
  }
  return std::ceil(end * 10) / 10;
}

std::string axes(double end, double threshold) {
  std::string text;
  const double bottom = plot_top + plot_height;
  for (int i = 0; i <= 4; ++i) {
    const double y = bottom - plot_height * i / 4;
    text += svg_line(plot_left, y, plot_left + plot_width, y, "class=\"grid\"");
    text += svg_label(plot_left - 8, y + 4, "end", fmt::format("{} %", 25 * i));
  }
  for (int i = 0; i <= 4; ++i) {
    const double x = plot_left + plot_width * i / 4;
    text += svg_label(x, bottom + 18, "middle", fmt::format("{:.2f}", end * i / 4));
  }
  const double x = plot_left + plot_width * std::min(1.0, threshold / end);
  text += svg_line(x, plot_top, x, bottom, "class=\"threshold\"");
  text += svg_label(plot_left + plot_width / 2, bottom + 40, "middle",
                    "gap: efficiency below the ceiling");
  text += svg_label(plot_left, plot_top - 14, "start", "share of points with at most this gap");
  return text;
}

std::string curve(const std::vector<double>& gaps, double end, std::string_view colour) {
  constexpr int steps = 210;
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i <= steps; ++i) {
    const double x = plot_left + plot_width * i / steps;
    const double y = plot_top + plot_height * (1 - cumulative_share(gaps, end * i / steps));
    points.emplace_back(x, y);
  }
  return svg_curve(points, colour);
}

}  // namespace

std::string gap_svg(const GapReport& report) {
  const GapsByGpu gaps = sorted_gaps(report);
  const double end = axis_end(gaps);
  const double height =
      std::max(plot_top + plot_height + 60, plot_top + bar_step * static_cast<double>(gaps.size()));
  std::string text = axes(end, report.threshold);
  text += svg_label(bars_left, plot_top - 14, "start",
                    fmt::format("points more than {:.2f} below the ceiling", report.threshold));
  double share_max = 0;
  for (const GapGroup& group : gap_groups(report)) share_max = std::max(share_max, group.share());
  std::size_t at = 0;
  for (const GapGroup& group : gap_groups(report)) {
    if (!group.family.empty()) continue;
    const std::string_view colour = svg_colours[at % svg_colours.size()];
    const double y = plot_top + bar_step * static_cast<double>(at++);
    const double width = share_max > 0 ? bars_width * group.share() / share_max : 0;
    text += curve(gaps.at(group.gpu), end, colour);
    text += svg_label(bars_left - 8, y + bar_height - 4, "end", group.gpu);
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
        bars_left, y, std::max(1.0, width), bar_height, colour);
    text += svg_label(bars_left + std::max(1.0, width) + 6, y + bar_height - 4, "start",
                      fmt::format("{} of {} ({})", grouped(group.underperforming),
                                  grouped(group.points), percent(group.share())));
  }
  return svg_picture(picture_width, height, text);
}

}  // namespace foretoken
