// Both distributions of every latency, side by side: where the curves part, the simulation is
// wrong, and whether for the quick or the slow requests.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/number_text.hpp"
#include "sim/report/svg.hpp"
#include "sim/report/validation_report.hpp"

namespace foretoken {
namespace {

// Pixels.
constexpr double plot_left = 60, plot_top = 70, plot_width = 300, plot_height = 260;
constexpr double panel_step = 390;
constexpr double axis_room = 60;  // below the plots

/// The smallest 1, 2 or 5 times a power of ten that is not below `value`.
double round_up(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (value <= step * power * (1 + 1e-9)) return step * power;
  }
  return 10 * power;
}

std::string curve(const std::vector<double>& samples, double left, double end,
                  std::string_view colour) {
  std::vector<std::pair<double, double>> points;
  const double bottom = plot_top + plot_height;
  const auto count = static_cast<double>(samples.size());
  double below = 0;
  for (std::size_t i = 0; i < samples.size() && samples[i] <= end; ++i) {
    const double x = left + plot_width * samples[i] / end;
    points.emplace_back(x, bottom - plot_height * below / count);
    below = static_cast<double>(i + 1);
    points.emplace_back(x, bottom - plot_height * below / count);
  }
  if (!points.empty()) points.emplace_back(left + plot_width, points.back().second);
  return svg_curve(points, colour);
}

std::string panel(const ValidatedLatency& latency, double left) {
  const double longest = std::max(latency.measured.max, latency.simulated.max);
  const bool in_seconds = longest >= 1e4;
  const double end = round_up(longest);
  const double bottom = plot_top + plot_height;
  std::string text = svg_label(left, plot_top - 14, "start", latency.name);
  for (int i = 0; i <= 4; ++i) {
    const double y = bottom - plot_height * i / 4;
    text += svg_line(left, y, left + plot_width, y, "class=\"grid\"");
    text += svg_label(left - 8, y + 4, "end", fmt::format("{} %", 25 * i));
    text += svg_label(left + plot_width * i / 4, bottom + 18, "middle",
                      brief(end * i / 4 * (in_seconds ? 1e-3 : 1.0)));
  }
  text += svg_label(left + plot_width / 2, bottom + 40, "middle", in_seconds ? "s" : "ms");
  text += curve(latency.measured_samples, left, end, svg_colours[0]);
  text += curve(latency.simulated_samples, left, end, svg_colours[1]);
  return text;
}

}  // namespace

std::string validation_svg(const ValidationReport& report) {
  std::string text = svg_label(plot_left, 24, "start", report.title);
  double left = plot_left;
  for (const ValidatedLatency& latency : report.latencies) {
    text += panel(latency, left);
    left += panel_step;
  }
  double key = plot_left + 150;
  for (const auto& [name, colour] :
       {std::pair{"measured", svg_colours[0]}, std::pair{"simulated", svg_colours[1]}}) {
    const double y = plot_top - 18;
    text += svg_line(key, y, key + 24, y, fmt::format("stroke=\"{}\" stroke-width=\"2\"", colour));
    text += svg_label(key + 30, y + 4, "start", name);
    key += 110;
  }
  return svg_picture(left, plot_top + plot_height + axis_room, text);
}

}  // namespace foretoken
