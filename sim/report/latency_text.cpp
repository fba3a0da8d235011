#include "sim/report/latency_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/figures.hpp"
#include "sim/report/latency_statistics.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

/// A latency row in one unit, with as many decimals as give its typical value three digits.
struct LatencyScale {
  std::string_view unit;
  double per_ms = 1;
  int decimals = 1;
};
LatencyScale latency_scale(const LatencyRow& row) {
  LatencyScale scale{"ms", 1.0};
  if (row.mean >= 1000) scale = {"s", 1e-3};
  if (row.mean < 0.1) scale = {"µs", 1e3};
  const double typical = (row.p50 > 0 ? std::min(row.p50, row.mean) : row.mean) * scale.per_ms;
  scale.decimals = typical >= 100 ? 0 : typical >= 10 ? 1 : 2;
  return scale;
}

TextTable latency_table(const Report& report, const std::vector<LatencyStatistic>& figures,
                        int label_columns, const TextTable::Layout& layout) {
  constexpr int figure_columns = 6;
  const int cell_room =
      (layout.width - layout.indent - label_columns) / figure_columns - layout.gap;
  const int cell_min = std::clamp(cell_room, 0, 8);
  std::vector<TextColumn> columns = {{"latency", Align::left, label_columns}};
  for (const LatencyStatistic& figure : figures) {
    columns.push_back({figure.name, Align::right, cell_min});
  }
  TextTable table(columns);
  const Ink ink(layout.colour);
  const auto add = [&](std::string_view name, const LatencyRow& row) {
    const bool empty = row.max == 0;  // nothing of the kind was measured
    const LatencyScale scale = latency_scale(row);
    std::vector<std::string> cells = {
        fmt::format("{:<4}  {}", name, ink.quiet(empty ? "" : scale.unit))};
    for (const LatencyStatistic& figure : figures) {
      cells.push_back(empty ? "–" : grouped(row.*figure.member * scale.per_ms, scale.decimals));
    }
    table.add_row(cells);
  };
  add("TTFT", report.ttft_ms);
  add("TPOT", report.tpot_ms);
  add("ITL", report.itl_ms);
  add("E2E", report.e2e_ms);
  return table;
}

}  // namespace

std::vector<std::string> latency_intervals(const Report& report) {
  std::vector<std::string> texts;
  if (!report.intervals) return texts;
  const auto add = [&](std::string_view name, std::string_view table, const LatencyRow& row) {
    if (row.max == 0) return;
    const LatencyScale scale = latency_scale(row);
    const auto ends = [&](std::string_view figure) {
      const FigureInterval interval = *interval_of(report, table, figure);
      return fmt::format("{}–{}", grouped(interval.low * scale.per_ms, scale.decimals),
                         grouped(interval.high * scale.per_ms, scale.decimals));
    };
    texts.push_back(
        fmt::format("{} p50 {}, p99 {} {}", name, ends("p50"), ends("p99"), scale.unit));
  };
  add("TTFT", "ttft_ms", report.ttft_ms);
  add("TPOT", "tpot_ms", report.tpot_ms);
  add("E2E", "e2e_ms", report.e2e_ms);
  return texts;
}

std::string latency_text(const Report& report, int label_columns, const TextTable::Layout& layout) {
  std::vector<LatencyStatistic> figures(latency_statistics.begin(), latency_statistics.end());
  for (const std::string_view dispensable : {"p95", "p90", "max"}) {
    const TextTable table = latency_table(report, figures, label_columns, layout);
    if (table.natural_width(layout) <= layout.width) break;
    std::erase_if(figures,
                  [&](const LatencyStatistic& figure) { return figure.name == dispensable; });
  }
  return latency_table(report, figures, label_columns, layout).text(layout);
}

}  // namespace foretoken
