#include "sim/report/figure_interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/report/report_figure.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

template <auto Row, auto Figure>
double latency(const Report& report) {
  return report.*Row.*Figure;
}

template <auto Row>
constexpr std::array<IntervalFigure, 6> latencies(std::string_view table) {
  return {{{table, "mean", latency<Row, &LatencyRow::mean>},
           {table, "p50", latency<Row, &LatencyRow::p50>},
           {table, "p90", latency<Row, &LatencyRow::p90>},
           {table, "p95", latency<Row, &LatencyRow::p95>},
           {table, "p99", latency<Row, &LatencyRow::p99>},
           {table, "max", latency<Row, &LatencyRow::max>}}};
}

constexpr auto ttft = latencies<&Report::ttft_ms>("ttft_ms");
constexpr auto tpot = latencies<&Report::tpot_ms>("tpot_ms");
constexpr auto itl = latencies<&Report::itl_ms>("itl_ms");
constexpr auto e2e = latencies<&Report::e2e_ms>("e2e_ms");
constexpr auto others = std::to_array<IntervalFigure>(
    {{"throughput", "requests_per_s",
      [](const Report& report) { return report.throughput.requests_per_s; }},
     {"throughput", "input_tokens_per_s",
      [](const Report& report) { return report.throughput.input_tokens_per_s; }},
     {"throughput", "output_tokens_per_s",
      [](const Report& report) { return report.throughput.output_tokens_per_s; }},
     {"whole_run", "requests_per_s",
      [](const Report& report) { return report.whole_run.requests_per_s; }},
     {"whole_run", "input_tokens_per_s",
      [](const Report& report) { return report.whole_run.input_tokens_per_s; }},
     {"whole_run", "output_tokens_per_s",
      [](const Report& report) { return report.whole_run.output_tokens_per_s; }},
     {"slo", "attainment", [](const Report& report) { return report.slo.attainment; }},
     {"slo", "goodput_per_s", [](const Report& report) { return report.slo.goodput_per_s; }},
     {"cost", "per_million_output_tokens", [](const Report& report) {
        return report.cost ? report.cost->per_million_output_tokens.value_or(0.0) : 0.0;
      }}});

const std::vector<IntervalFigure>& all_figures() {
  static const std::vector<IntervalFigure> all = [] {
    std::vector<IntervalFigure> figures;
    for (const auto& row : {ttft, tpot, itl, e2e}) {
      figures.insert(figures.end(), row.begin(), row.end());
    }
    figures.insert(figures.end(), others.begin(), others.end());
    return figures;
  }();
  return all;
}

}  // namespace

std::span<const IntervalFigure> interval_figures() { return all_figures(); }

std::vector<double> interval_values(const Report& report) {
  std::vector<double> values;
  for (const IntervalFigure& figure : interval_figures()) values.push_back(figure.value(report));
  return values;
}

std::vector<FigureInterval> intervals_over(const std::vector<double>& values,
                                           const std::vector<std::vector<double>>& edges) {
  std::vector<FigureInterval> intervals;
  for (std::size_t i = 0; i < values.size(); ++i) {
    FigureInterval& interval = intervals.emplace_back(FigureInterval{values[i], values[i]});
    for (const std::vector<double>& edge : edges) {
      interval.low = std::min(interval.low, edge[i]);
      interval.high = std::max(interval.high, edge[i]);
    }
  }
  return intervals;
}

std::optional<FigureInterval> interval_of(const Report& report, std::string_view table,
                                          std::string_view name) {
  if (!report.intervals) return std::nullopt;
  const auto figures = interval_figures();
  const auto found = std::ranges::find_if(figures, [&](const IntervalFigure& figure) {
    return figure.table == table && figure.name == name;
  });
  FORETOKEN_CHECK(found != figures.end(), "no interval of {}.{}", table, name);
  return report.intervals->figures[static_cast<std::size_t>(found - figures.begin())];
}

std::optional<FigureInterval> interval_of(const Value& report, std::string_view table,
                                          std::string_view name) {
  const Value* intervals = report.find("intervals");
  if (intervals == nullptr) return std::nullopt;
  const Value& both = report_member(report_member(*intervals, table), name);
  const auto& ends = std::get<ValueArray>(both.data);
  FORETOKEN_CHECK(ends.size() == 2, "an interval of {} ends", ends.size());
  return FigureInterval{report_number(ends[0]), report_number(ends[1])};
}

FigureInterval of_server(const FigureInterval& prices, double value, std::string_view table) {
  if (!(value > 0) || !(prices.low > 0)) return prices;
  const double server = server_half_width(table, interval_confidence);
  const auto widened = [&](double edge) { return std::hypot(std::log(edge / value), server); };
  return {value * std::exp(-widened(prices.low)), value * std::exp(widened(prices.high))};
}

Value intervals_value(const Report& report) {
  const Report::Intervals& intervals = *report.intervals;
  Value value;
  value.set("source", intervals.is_simulated ? "simulate" : "estimate");
  value.set("confidence", rounded(interval_confidence));
  value.set("step_time", rounded(report.step_error.half_width(interval_confidence)));
  const auto figures = interval_figures();
  Value table;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (figures[i].table == "cost" && !(report.cost && report.cost->per_million_output_tokens)) {
      continue;
    }
    const FigureInterval& interval = intervals.figures[i];
    table.set(figures[i].name, ValueArray{rounded(interval.low), rounded(interval.high)});
    if (i + 1 < figures.size() && figures[i + 1].table == figures[i].table) continue;
    value.set(figures[i].table, std::exchange(table, Value()));
  }
  return value;
}

}  // namespace foretoken
