#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/report/number_text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/validation_report.hpp"

namespace foretoken {
namespace {

struct Statistic {
  const char* name;
  double LatencyRow::*member;
};
constexpr auto statistics = std::to_array<Statistic>({{"mean", &LatencyRow::mean},
                                                      {"p50", &LatencyRow::p50},
                                                      {"p90", &LatencyRow::p90},
                                                      {"p99", &LatencyRow::p99}});

std::string difference_text(double measured, double simulated) {
  return fmt::format("{:+.1f} %", 100.0 * relative_difference(measured, simulated));
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
                   {"difference", Align::right}});
  for (const ValidatedLatency& latency : report.latencies) {
    // Milliseconds up to ten seconds, as engines report them.
    const bool in_seconds = latency.measured.p99 >= 1e4;
    const double unit = in_seconds ? 1e-3 : 1.0;
    for (const Statistic& statistic : statistics) {
      const double measured = latency.measured.*statistic.member;
      const double simulated = latency.simulated.*statistic.member;
      const bool is_first = &statistic == &statistics.front();
      table.add_row({is_first ? fmt::format("{}  {}", latency.name, in_seconds ? "s" : "ms") : "",
                     statistic.name, brief(measured * unit), brief(simulated * unit),
                     difference_text(measured, simulated)});
    }
  }
  for (const ValidatedFigure& figure : report.figures) {
    table.add_row({figure.name, figure.unit, brief(figure.measured), brief(figure.simulated),
                   difference_text(figure.measured, figure.simulated)});
  }
  const TextTable::Layout layout{.width = width, .indent = 2, .gap = 2, .colour = colour};
  std::string text = fmt::format("  {}\n  {} in {}\n\n", ink.strong(fitted(report.title, width - 2)),
                                 counted(report.requests, "request"), report.recorded);
  text += table.text(layout);
  for (const std::string& note : report.notes) text += fmt::format("\n  {}\n", ink.quiet(note));
  return text;
}

}  // namespace foretoken
