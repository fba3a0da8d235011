#include "sim/planner/figure_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

using F = const RunFigures&;

constexpr auto columns = std::to_array<FigureColumn>({
    {"gpus", "GPUs", [](F f) { return static_cast<double>(f.gpus); }, true, "GPUs", ""},
    {"replicas", "", [](F f) { return static_cast<double>(f.replicas); }, true, "replicas", ""},
    {"ttft_p50_ms", "", [](F f) { return f.ttft_p50_ms; }, false, "TTFT p50", "ms"},
    {"ttft_p99_ms", "TTFT p99", [](F f) { return f.ttft_p99_ms; }, false, "TTFT p99", "ms"},
    {"tpot_p50_ms", "", [](F f) { return f.tpot_p50_ms; }, false, "TPOT p50", "ms"},
    {"tpot_p99_ms", "TPOT p99", [](F f) { return f.tpot_p99_ms; }, false, "TPOT p99", "ms"},
    {"e2e_p50_ms", "", [](F f) { return f.e2e_p50_ms; }, false, "E2E p50", "ms"},
    {"requests_per_s", "", [](F f) { return f.requests_per_s; }, false, "completed", "requests/s",
     true},
    {"output_tokens_per_s", "tok/s", [](F f) { return f.output_tokens_per_s; }, false, "output",
     "tokens/s", true},
    {"output_tokens_per_s_gpu", "/GPU", [](F f) { return f.output_tokens_per_s_gpu; }, false,
     "per GPU", "tokens/s", true},
});
constexpr auto slo_columns = std::to_array<FigureColumn>({
    {"attainment", "", [](F f) { return f.attainment; }, false, "within SLO", "%", true, true},
    {"goodput_per_s", "good/s", [](F f) { return f.goodput_per_s; }, false, "goodput",
     "requests/s", true},
    {"goodput_per_s_gpu", "/GPU", [](F f) { return f.goodput_per_s / f.gpus; }, false,
     "goodput per GPU", "requests/s", true},
});

}  // namespace

std::span<const FigureColumn> figure_columns() { return columns; }
std::span<const FigureColumn> slo_figure_columns() { return slo_columns; }

std::string interval_headers(std::span<const FigureColumn> columns) {
  std::string text;
  for (const FigureColumn& column : columns) {
    if (!column.is_count) text += fmt::format(",{0}_low,{0}_high", column.name);
  }
  return text;
}

std::string interval_cells(std::span<const FigureColumn> columns, const RunFigures* figures) {
  std::string text;
  for (const FigureColumn& column : columns) {
    if (column.is_count) continue;
    const auto interval = figures != nullptr ? interval_of(*figures, column.name) : std::nullopt;
    text +=
        interval ? fmt::format(",{},{}", rounded(interval->low), rounded(interval->high)) : ",,";
  }
  return text;
}

std::string interval_range(const FigureColumn& column, const std::vector<const RunFigures*>& runs) {
  std::optional<FigureInterval> widths;
  for (const RunFigures* figures : runs) {
    const auto interval = interval_of(*figures, column.name);
    const double value = column.value(*figures);
    if (!interval || value <= 0) continue;
    const double width = 50 * (interval->high - interval->low) / value;
    if (!widths) widths = {width, width};
    widths = {std::min(widths->low, width), std::max(widths->high, width)};
  }
  if (!widths) return "";
  const std::string low = fmt::format("{:.0f}", widths->low);
  const std::string high = fmt::format("{:.0f}", widths->high);
  return low == high ? fmt::format("± {} %", low) : fmt::format("± {} to {} %", low, high);
}

std::string interval_ranges(std::span<const FigureColumn> columns,
                            const std::vector<const RunFigures*>& runs) {
  std::string text;
  for (const FigureColumn& column : columns) {
    if (column.header.empty() || !column.name.ends_with("_ms")) continue;
    const std::string range = interval_range(column, runs);
    if (!range.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", column.header, range);
  }
  return text;
}

void set_intervals(std::span<const FigureColumn> columns, const RunFigures& figures, Value& run) {
  Value intervals;
  for (const FigureColumn& column : columns) {
    if (const auto interval = interval_of(figures, column.name)) {
      intervals.set(column.name, ValueArray{rounded(interval->low), rounded(interval->high)});
    }
  }
  if (!std::get<ValueObject>(intervals.data).empty()) run.set("intervals", std::move(intervals));
}

}  // namespace foretoken
