// The diagnosis as one picture (the paper's Figure 7): how gaps are spread on each GPU, and how
// many of its points underperform. Plain SVG, nothing to load.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sim/report/gap_report.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

// Okabe and Ito's colours, told apart by most colour-blind readers.
constexpr auto colours = std::to_array<std::string_view>(
    {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"});

// Pixels.
constexpr double plot_left = 60, plot_top = 50, plot_width = 420, plot_height = 280;
constexpr double bars_left = 660, bar_height = 18, bar_step = 30, bars_width = 220;
constexpr int picture_width = 1000;

constexpr double gap_axis_min = 0.2;  // the horizontal axis reaches at least this far

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string label(double x, double y, std::string_view anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

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
    text += line(plot_left, y, plot_left + plot_width, y, "class=\"grid\"");
    text += label(plot_left - 8, y + 4, "end", fmt::format("{} %", 25 * i));
  }
  for (int i = 0; i <= 4; ++i) {
    const double x = plot_left + plot_width * i / 4;
    text += label(x, bottom + 18, "middle", fmt::format("{:.2f}", end * i / 4));
  }
  const double x = plot_left + plot_width * std::min(1.0, threshold / end);
  text += line(x, plot_top, x, bottom, "class=\"threshold\"");
  text +=
      label(plot_left + plot_width / 2, bottom + 40, "middle", "gap: efficiency below the ceiling");
  text += label(plot_left, plot_top - 14, "start", "share of points with at most this gap");
  return text;
}

std::string curve(const std::vector<double>& gaps, double end, std::string_view colour) {
  constexpr int steps = 210;
  std::string points;
  for (int i = 0; i <= steps; ++i) {
    const double x = plot_left + plot_width * i / steps;
    const double y = plot_top + plot_height * (1 - cumulative_share(gaps, end * i / steps));
    points += fmt::format("{:.1f},{:.1f} ", x, y);
  }
  points.pop_back();
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                     points, colour);
}

}  // namespace

std::string gap_svg(const GapReport& report) {
  const GapsByGpu gaps = sorted_gaps(report);
  const double end = axis_end(gaps);
  const double height =
      std::max(plot_top + plot_height + 60, plot_top + bar_step * static_cast<double>(gaps.size()));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
      "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<style>.grid{{stroke:#ddd}}.threshold{{stroke:#888;stroke-dasharray:4 3}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      picture_width, height);
  text += axes(end, report.threshold);
  text += label(bars_left, plot_top - 14, "start",
                fmt::format("points more than {:.2f} below the ceiling", report.threshold));
  double share_max = 0;
  for (const GapGroup& group : gap_groups(report)) share_max = std::max(share_max, group.share());
  std::size_t at = 0;
  for (const GapGroup& group : gap_groups(report)) {
    if (!group.family.empty()) continue;
    const std::string_view colour = colours[at % colours.size()];
    const double y = plot_top + bar_step * static_cast<double>(at++);
    const double width = share_max > 0 ? bars_width * group.share() / share_max : 0;
    text += curve(gaps.at(group.gpu), end, colour);
    text += label(bars_left - 8, y + bar_height - 4, "end", group.gpu);
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
        bars_left, y, std::max(1.0, width), bar_height, colour);
    text += label(bars_left + std::max(1.0, width) + 6, y + bar_height - 4, "start",
                  fmt::format("{} of {} ({})", grouped(group.underperforming),
                              grouped(group.points), percent(group.share())));
  }
  return text + "</svg>\n";
}

}  // namespace foretoken
