#include <fmt/format.h>

#include <algorithm>

#include "sim/report/number_text.hpp"
#include "sim/report/validation_columns.hpp"

namespace foretoken {
namespace {

std::string signed_percents(double share) { return fmt::format("{:+.1f} %", 100.0 * share); }

bool has_intervals(const ValidationReport& report) {
  return std::ranges::any_of(report.latencies,
                             [](const ValidatedLatency& latency) { return latency.high.mean > 0; });
}

/// A statistic of a latency, or a figure.
struct ValidatedRow {
  std::string name, unit;        // "TTFT mean", "ms"
  std::string label, statistic;  // "TTFT  s" before the first of a latency, "mean"
  double measured = 0, simulated = 0, unit_shown = 1;
  FigureInterval interval;  // up to 0: not known

  [[nodiscard]] ResultCell shown(double number) const {
    return {.number = number, .shown = brief(number * unit_shown)};
  }
  [[nodiscard]] std::string interval_text(double unit) const {
    if (interval.high <= 0) return "";
    return fmt::format("{}–{}", brief(interval.low * unit), brief(interval.high * unit));
  }
  /// Whether the measured value lies between.
  [[nodiscard]] std::string mark(const Ink& ink) const {
    if (interval.high <= 0) return "";
    return measured >= interval.low && measured <= interval.high ? ink.good("✓") : ink.bad("✗");
  }
};

std::vector<ValidatedRow> validated_rows(const ValidationReport& report) {
  std::vector<ValidatedRow> rows;
  for (const ValidatedLatency& latency : report.latencies) {
    // Milliseconds up to ten seconds, as engines report them.
    const bool in_seconds = latency.measured.p99 >= 1e4;
    for (const auto& [name, member] : compared_statistics) {
      const bool is_first = name == compared_statistics.front().first;
      rows.push_back({fmt::format("{} {}", latency.name, name),
                      "ms",
                      is_first ? fmt::format("{}  {}", latency.name, in_seconds ? "s" : "ms") : "",
                      name,
                      latency.measured.*member,
                      latency.simulated.*member,
                      in_seconds ? 1e-3 : 1.0,
                      {latency.low.*member, latency.high.*member}});
    }
  }
  for (const ValidatedFigure& figure : report.figures) {
    rows.push_back({figure.name, figure.unit, figure.name, figure.unit, figure.measured,
                    figure.simulated, 1, figure.interval.value_or(FigureInterval())});
  }
  return rows;
}

}  // namespace

double relative_difference(double measured, double simulated) {
  if (measured == 0.0) return simulated == 0.0 ? 0.0 : 1.0;
  return (simulated - measured) / measured;
}

ResultTable validation_columns(const ValidationReport& report, const Ink& ink) {
  using enum ResultKind;
  using Row = const ValidatedRow&;
  const std::vector<ValidatedRow> rows = validated_rows(report);
  ResultTable table;
  const ColumnsOf add(table, rows);
  add({"", "figure"}, &ValidatedRow::name);
  add({"", "unit"}, &ValidatedRow::unit);
  add({"", "", "", " "}, &ValidatedRow::label);
  add({"", "", "", " "}, &ValidatedRow::statistic);
  add({"", "measured", "", "measured", number, 2}, [](Row row) { return row.shown(row.measured); });
  add({"", "simulated", "", "simulated", number, 2},
      [](Row row) { return row.shown(row.simulated); });
  add({"", "difference", "%", "difference", share, 1, signed_percents},
      [](Row row) { return relative_difference(row.measured, row.simulated); });
  ResultColumn interval{"", "", "", has_intervals(report) ? "90 % interval" : ""};
  interval.is_right = true;
  add(interval, [](Row row) { return row.interval_text(row.unit_shown); });
  // The page has every latency in ms.
  ResultColumn on_page{"", has_intervals(report) ? "90 % interval" : ""};
  on_page.is_right = true;
  add(on_page, [](Row row) { return row.interval_text(1); });
  add({"", has_intervals(report) ? "inside" : "", "", " "}, [&](Row row) { return row.mark(ink); });
  return table;
}

std::string validation_text(const ValidationReport& report, bool colour, int width) {
  const Ink ink(colour);
  const TextTable::Layout layout{.width = width, .indent = 2, .gap = 2, .colour = colour};
  std::string text =
      fmt::format("  {}\n  {} in {}\n\n", ink.strong(fitted(report.title, width - 2)),
                  counted(report.requests, "request"), report.recorded);
  text += validation_columns(report, ink).terminal("").text(layout);
  if (has_intervals(report)) {
    text += ink.quiet(
        "  90 % interval of the simulated value: kernel-price error and variation between "
        "servers;\n"
        "  ✓ the measured value lies inside\n");
  }
  for (const std::string& note : report.notes) text += fmt::format("\n  {}\n", ink.quiet(note));
  return text;
}

}  // namespace foretoken
