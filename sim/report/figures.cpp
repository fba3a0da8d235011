#include "sim/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

using Slot = std::function<double*(Report&)>;

/// A figure that a report keeps as it is.
Figure kept(std::string name, std::string title, std::string unit, FigureKind kind, Better better,
            FigureUse use, std::string place, Slot slot) {
  Figure figure{
      std::move(name), std::move(title), std::move(unit), kind, better, use, std::move(place), {}};
  // A slot is only looked at here.
  figure.value = [slot](const Report& report) { return *slot(const_cast<Report&>(report)); };
  figure.slot = std::move(slot);
  return figure;
}

Figure per_gpu(Figure figure, std::string title, std::string goal) {
  figure.name += "_gpu";
  figure.title = std::move(title);
  figure.header = "/GPU";
  figure.goal = std::move(goal);
  figure.is_per_gpu = true;
  figure.slot = {};
  figure.value = [whole = figure.value](const Report& report) {
    return whole(report) / report.gpus;
  };
  return figure;
}

/// All statistics of one latency. The median and the tail stand beside those of other runs.
void add_latency(const std::string& name, const std::string& title, LatencyRow Report::*row,
                 FigureUse use, std::vector<Figure>& all) {
  struct Statistic {
    const char* name;
    double LatencyRow::*member;
    FigureUse use;
  };
  constexpr Statistic statistics[] = {
      {"mean", &LatencyRow::mean, FigureUse::plans}, {"p50", &LatencyRow::p50, FigureUse::runs},
      {"p90", &LatencyRow::p90, FigureUse::plans},   {"p95", &LatencyRow::p95, FigureUse::plans},
      {"p99", &LatencyRow::p99, FigureUse::runs},    {"max", &LatencyRow::max, FigureUse::one_run}};
  for (const Statistic& each : statistics) {
    all.push_back(kept(fmt::format("{}_{}_ms", name, each.name),
                       fmt::format("{} {}", title, each.name), "ms", FigureKind::time,
                       Better::lower, std::max(use, each.use),
                       fmt::format("{}_ms.{}", name, each.name),
                       [row, member = each.member](Report& r) { return &(r.*row.*member); }));
  }
}

/// Of the SLO, or of the price of tokens.
Figure of(FigureOf of, Figure figure) {
  figure.of = of;
  return figure;
}
Figure shown(std::string header, std::string goal, Figure figure) {
  figure.header = std::move(header);
  figure.goal = std::move(goal);
  return figure;
}

double replicas_of(const Report& report) {
  double sum = 0;
  for (const Report::Pool& pool : report.pools) sum += pool.replicas;
  if (!report.pools.empty()) return sum;
  // The resolved scenario says how many "auto" were.
  const Value* deployment = report.scenario.find("deployment");
  const Value* replicas = deployment == nullptr ? nullptr : deployment->find("replicas");
  const auto* count = replicas == nullptr ? nullptr : std::get_if<std::int64_t>(&replicas->data);
  return count == nullptr ? 1 : static_cast<double>(*count);
}

std::vector<Figure> built_in_figures() {
  using enum FigureKind;
  using enum Better;
  using enum FigureUse;
  std::vector<Figure> all;
  all.push_back({"gpus", "GPUs", "", count, neither, runs, "gpus",
                 [](const Report& r) { return double(r.gpus); }, "GPUs"});
  all.push_back({"replicas", "replicas", "", count, neither, runs, "", replicas_of});
  add_latency("ttft", "TTFT", &Report::ttft_ms, runs, all);
  add_latency("tpot", "TPOT", &Report::tpot_ms, runs, all);
  add_latency("itl", "ITL", &Report::itl_ms, one_run, all);
  add_latency("e2e", "E2E", &Report::e2e_ms, runs, all);
  all.push_back(kept("requests_per_s", "completed", "requests/s", rate, higher, runs,
                     "throughput.requests_per_s",
                     [](Report& r) { return &r.throughput.requests_per_s; }));
  all.push_back(kept("input_tokens_per_s", "input", "tokens/s", rate, higher, one_run,
                     "throughput.input_tokens_per_s",
                     [](Report& r) { return &r.throughput.input_tokens_per_s; }));
  const Figure output = shown("tok/s", "throughput",
                              kept("output_tokens_per_s", "output", "tokens/s", rate, higher, runs,
                                   "throughput.output_tokens_per_s",
                                   [](Report& r) { return &r.throughput.output_tokens_per_s; }));
  all.push_back(output);
  all.push_back(per_gpu(output, "per GPU", "throughput per GPU"));
  all.push_back(kept("whole_run_requests_per_s", "completed, whole run", "requests/s", rate, higher,
                     one_run, "whole_run.requests_per_s",
                     [](Report& r) { return &r.whole_run.requests_per_s; }));
  all.push_back(kept("whole_run_input_tokens_per_s", "input, whole run", "tokens/s", rate, higher,
                     one_run, "whole_run.input_tokens_per_s",
                     [](Report& r) { return &r.whole_run.input_tokens_per_s; }));
  all.push_back(kept("whole_run_output_tokens_per_s", "output, whole run", "tokens/s", rate, higher,
                     one_run, "whole_run.output_tokens_per_s",
                     [](Report& r) { return &r.whole_run.output_tokens_per_s; }));
  all.push_back(
      of(FigureOf::slo, kept("attainment", "within SLO", "%", share, higher, runs, "slo.attainment",
                             [](Report& r) { return &r.slo.attainment; })));
  const Figure goodput =
      of(FigureOf::slo,
         shown("good/s", "goodput",
               kept("goodput_per_s", "goodput", "requests/s", rate, higher, runs,
                    "slo.goodput_per_s", [](Report& r) { return &r.slo.goodput_per_s; })));
  all.push_back(goodput);
  all.push_back(per_gpu(goodput, "goodput per GPU", "goodput per GPU"));
  all.push_back(of(FigureOf::priced, {"dollars_per_million_output_tokens", "cost", "$/M tokens",
                                      price, lower, runs, "cost.per_million_output_tokens",
                                      [](const Report& r) {
                                        return r.cost
                                                   ? r.cost->per_million_output_tokens.value_or(0.0)
                                                   : 0.0;
                                      },
                                      "$/M tok", "cost per token"}));
  for (Figure& figure : all) {
    const bool is_tail = figure.name == "ttft_p99_ms" || figure.name == "tpot_p99_ms";
    if (is_tail) figure.header = figure.goal = figure.title;
    if (figure.name == "e2e_p99_ms") figure.use = plans;
  }
  return all;
}

std::vector<Figure>& catalogue() {
  static std::vector<Figure> all = built_in_figures();
  return all;
}

/// Whether report.json's intervals have one of it: "throughput.output_tokens_per_s" as table and
/// key.
std::optional<std::pair<std::string_view, std::string_view>> interval_place(const Figure& figure) {
  const std::string_view place = figure.place;
  const auto dot = place.find('.');
  if (figure.kind == FigureKind::count || figure.is_per_gpu || dot == std::string_view::npos)
    return std::nullopt;
  return std::pair(place.substr(0, dot), place.substr(dot + 1));
}

}  // namespace

std::optional<double> Figure::in(const Report& report) const {
  if (of == FigureOf::slo && report.slo.targets.empty()) return std::nullopt;
  if (of == FigureOf::priced && !(report.cost && report.cost->per_million_output_tokens))
    return std::nullopt;
  return value(report);
}

std::string Figure::goal_text() const {
  return (better == Better::higher ? "highest " : "lowest ") + (goal.empty() ? title : goal);
}

double Figure::moved(double value, double factor) const {
  switch (kind) {
    case FigureKind::time:
    case FigureKind::price:
      return value * factor;
    case FigureKind::rate:
      return value / factor;
    case FigureKind::share:
    case FigureKind::count:
      break;
  }
  return value;
}

const std::vector<Figure>& figures() { return catalogue(); }

void add_figure(Figure figure) { catalogue().push_back(std::move(figure)); }

std::size_t figure_index(std::string_view name) {
  const auto found = std::ranges::find(figures(), name, &Figure::name);
  FORETOKEN_CHECK(found != figures().end(), "no figure is called '{}'", name);
  return static_cast<std::size_t>(found - figures().begin());
}

const Figure& figure_named(std::string_view name) { return figures()[figure_index(name)]; }

bool is_missing(const Figure& figure, const std::vector<const Report*>& reports) {
  return std::ranges::none_of(reports,
                              [&](const Report* report) { return figure.in(*report).has_value(); });
}

std::vector<double> figure_values(const Report& report) {
  std::vector<double> values;
  for (const Figure& figure : figures()) values.push_back(figure.value(report));
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

std::optional<FigureInterval> interval_of(const Report& report, const Figure& figure) {
  if (!report.intervals || figure.kind == FigureKind::count || !figure.in(report))
    return std::nullopt;
  return report.intervals->figures[figure_index(figure.name)];
}

std::optional<FigureInterval> interval_of(const Report& report, std::string_view table,
                                          std::string_view key) {
  if (!report.intervals) return std::nullopt;
  const auto found = std::ranges::find_if(figures(), [&](const Figure& figure) {
    return interval_place(figure) == std::pair(table, key);
  });
  FORETOKEN_CHECK(found != figures().end(), "no interval of {}.{}", table, key);
  return report.intervals->figures[static_cast<std::size_t>(found - figures().begin())];
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
  for (std::size_t i = 0; i < figures().size(); ++i) {
    const auto place = interval_place(figures()[i]);
    const bool has_price = report.cost && report.cost->per_million_output_tokens;
    if (!place || (figures()[i].of == FigureOf::priced && !has_price)) continue;
    const Value* known = value.find(place->first);
    Value table = known != nullptr ? *known : Value();
    table.set(place->second,
              ValueArray{rounded(intervals.figures[i].low), rounded(intervals.figures[i].high)});
    value.set(place->first, std::move(table));
  }
  return value;
}

Report::Intervals read_intervals(const Value& intervals, const Report& report) {
  Report::Intervals read;
  const Value* source = intervals.find("source");
  read.is_simulated = source != nullptr && std::get<std::string>(source->data) == "simulate";
  for (const Figure& figure : figures()) {
    const double value = figure.value(report);
    FigureInterval& interval = read.figures.emplace_back(FigureInterval{value, value});
    Figure whole = figure;
    whole.is_per_gpu = false;
    const auto place = interval_place(whole);
    const Value* table = place ? intervals.find(place->first) : nullptr;
    const Value* ends = table != nullptr ? table->find(place->second) : nullptr;
    if (ends == nullptr) continue;
    const double share = figure.is_per_gpu ? 1.0 / report.gpus : 1.0;
    const auto end = [&](std::size_t i) {
      const Value& number = std::get<ValueArray>(ends->data).at(i);
      const auto* count = std::get_if<std::int64_t>(&number.data);
      return share * (count != nullptr ? double(*count) : std::get<double>(number.data));
    };
    interval = {end(0), end(1)};
  }
  return read;
}

std::string figure_columns_sql() {
  std::string columns;
  for (const Figure& figure : figures()) {
    if (figure.place.empty()) continue;
    columns += fmt::format(", json_extract(report, '$.{}'){} AS {}", figure.place,
                           figure.is_per_gpu ? " * 1.0 / json_extract(report, '$.gpus')" : "",
                           figure.name);
  }
  return columns;
}

}  // namespace foretoken
