#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/report/number_text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/validation_report.hpp"

namespace foretoken {
namespace {

std::string difference_text(double measured, double simulated) {
  return fmt::format("{:+.1f} %", 100.0 * relative_difference(measured, simulated));
}

bool has_intervals(const ValidationReport& report) {
  return std::ranges::any_of(report.latencies,
                             [](const ValidatedLatency& latency) { return latency.high.mean > 0; });
}

std::string interval_text(double low, double high) {
  return high > 0 ? fmt::format("{}–{}", brief(low), brief(high)) : "";
}

/// Whether the measured value lies between.
std::string mark_text(double measured, double low, double high, const Ink& ink) {
  if (high <= 0) return "";
  return measured >= low && measured <= high ? ink.good("✓") : ink.bad("✗");
}

}  // namespace

double relative_difference(double measured, double simulated) {
  if (measured == 0.0) return simulated == 0.0 ? 0.0 : 1.0;
  return (simulated - measured) / measured;
}

std::string validation_text(const ValidationReport& report, bool colour, int width) {
  const Ink ink(colour);
  TextTable table({{"", Align::left},
                   {"", Align::left},
                   {"measured", Align::right},
                   {"simulated", Align::right},
                   {"difference", Align::right},
                   {has_intervals(report) ? "90 % interval" : "", Align::right},
                   {""}});
  for (const ValidatedLatency& latency : report.latencies) {
    // Milliseconds up to ten seconds, as engines report them.
    const bool in_seconds = latency.measured.p99 >= 1e4;
    const double unit = in_seconds ? 1e-3 : 1.0;
    for (const auto& [name, member] : compared_statistics) {
      const double measured = latency.measured.*member;
      const bool is_first = name == compared_statistics.front().first;
      table.add_row({is_first ? fmt::format("{}  {}", latency.name, in_seconds ? "s" : "ms") : "",
                     name, brief(measured * unit), brief(latency.simulated.*member * unit),
                     difference_text(measured, latency.simulated.*member),
                     interval_text(latency.low.*member * unit, latency.high.*member * unit),
                     mark_text(measured, latency.low.*member, latency.high.*member, ink)});
    }
  }
  for (const ValidatedFigure& figure : report.figures) {
    const FigureInterval interval = figure.interval.value_or(FigureInterval());
    table.add_row({figure.name, figure.unit, brief(figure.measured), brief(figure.simulated),
                   difference_text(figure.measured, figure.simulated),
                   interval_text(interval.low, interval.high),
                   mark_text(figure.measured, interval.low, interval.high, ink)});
  }
  const TextTable::Layout layout{.width = width, .indent = 2, .gap = 2, .colour = colour};
  std::string text =
      fmt::format("  {}\n  {} in {}\n\n", ink.strong(fitted(report.title, width - 2)),
                  counted(report.requests, "request"), report.recorded);
  text += table.text(layout);
  if (has_intervals(report)) {
    text += ink.quiet(
        "  90 % interval of the simulated value: kernel-price error, and what servers differ by;\n"
        "  ✓ where the measured value lies inside\n");
  }
  for (const std::string& note : report.notes) text += fmt::format("\n  {}\n", ink.quiet(note));
  return text;
}

}  // namespace foretoken
