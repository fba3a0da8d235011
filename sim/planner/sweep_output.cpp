// A sweep as a table for the terminal (a line a point: means over its seeds with 95 % intervals),
// as CSV (a line a run) and as JSON (both). All in the order of the plan, without wall times, so
// that the same sweep gives the same bytes however it was run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/csv_cell.hpp"
#include "sim/planner/goals.hpp"
#include "sim/planner/sweep.hpp"
#include "sim/planner/sweep_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

// Of a list within a line of the terminal; the files have all.
constexpr std::size_t listed_max = 6;

/// Those of the terminal's table. "per GPU" says nothing where all runs have as many, and intervals
/// need the room.
std::vector<FigureColumn> shown_columns(const SweepResult& result) {
  std::optional<int> gpus;
  bool gpus_differ = false;
  for (const SweptRun& run : result.runs) {
    if (!run.figures) continue;
    gpus_differ = gpus_differ || run.figures->gpus != gpus.value_or(run.figures->gpus);
    gpus = run.figures->gpus;
  }
  const bool by_gpu = gpus_differ && result.plan.seeds.size() < 2;
  std::vector<FigureColumn> shown;
  for (const FigureColumn& column : columns_of(result)) {
    if (!column.header.empty() && (by_gpu || column.header != "/GPU")) shown.push_back(column);
  }
  return shown;
}

std::string interval_text(const SeedInterval& interval, std::string (*text)(double)) {
  if (!interval.half_width) return text(interval.mean);
  return fmt::format("{} ±{}", text(interval.mean), text(*interval.half_width));
}

/// " ~0.86": half the width of what prices may make of a latency.
std::string price_text(const SweepResult& result, std::size_t point, const FigureColumn& column) {
  const auto prices = result.price_interval(point, column.name);
  if (!prices || !column.name.ends_with("_ms")) return "";
  return " ~" + brief((prices->high - prices->low) / 2);
}

std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string cents(double value) { return fmt::format("{:.2f}", value); }

TextTable table_of_points(const SweepResult& result, bool colour, std::size_t rows_max,
                          bool with_prices) {
  const std::vector<FigureColumn> shown = shown_columns(result);
  const bool priced = any_run(result, has_price);
  const bool seeded = result.plan.seeds.size() > 1;
  const Ink ink(colour);
  std::vector<TextColumn> headers;
  for (const std::string& label : labels_of(result.plan)) headers.push_back({label, Align::right});
  if (seeded) headers.push_back({"seeds", Align::right});
  for (const FigureColumn& column : shown)
    headers.push_back({std::string(column.header), Align::right});
  if (priced) headers.push_back({"$/M tok", Align::right});
  headers.push_back({"bound by"});
  headers.push_back({""});
  TextTable table(std::move(headers));
  const std::vector<std::size_t> points = points_that_ran(result);
  for (std::size_t row = 0; row < std::min(rows_max, points.size()); ++row) {
    const std::size_t point = points[row];
    std::vector<std::string> cells = result.plan.points[point].values;
    if (seeded) {
      cells.push_back(
          whole(static_cast<double>(std::ranges::count_if(result.runs, [&](const SweptRun& run) {
            return run.figures && result.plan.point_of(run.run) == point;
          }))));
    }
    for (const FigureColumn& column : shown) {
      const auto interval = result.interval(point, column.value);
      cells.push_back(column.is_count ? whole(interval->mean)
                                      : interval_text(*interval, brief) +
                                            (with_prices ? price_text(result, point, column) : ""));
    }
    if (priced) {
      const auto price = *result.interval(point, price_of);
      cells.push_back(std::isfinite(price.mean) ? interval_text(price, cents) : "–");
    }
    cells.push_back(bound_of(result, point));
    const auto stars = std::ranges::count(result.best, point, &BestPoint::point);
    cells.push_back(stars > 0 ? ink.good(repeated("★", static_cast<int>(stars))) : "");
    table.add_row(std::move(cells));
  }
  return table;
}

/// The table and what its figures are. What prices may make of latencies stands beside them if
/// there is room, else below.
std::string points_text(const SweepResult& result, bool colour, int width, std::size_t rows_max) {
  const std::size_t points = points_that_ran(result).size();
  if (points == 0) return "";
  const Ink ink(colour);
  const TextTable::Layout layout{.width = width, .colour = colour, .kept = result.plan.keys.size()};
  const TextTable plain = table_of_points(result, colour, rows_max, false);
  const TextTable full = table_of_points(result, colour, rows_max, true);
  const bool fits = full.natural_width(layout) <= width;
  std::string text = (fits ? full : plain).text(layout);
  if (points > rows_max)
    text += fmt::format("  … and {} more, in the store and with --csv\n", points - rows_max);
  const bool has_slo = any_run(result, [](const RunFigures& f) { return f.has_slo; });
  const bool seeded = result.plan.seeds.size() > 1;
  text += ink.quiet(fmt::format(
      "  latencies in ms · output tokens{} per second · $ per million output tokens\n{}",
      has_slo ? " and requests within the SLO" : "",
      seeded ? "  means over the seeds ± half of the 95 % interval\n" : ""));
  if (!any_run(result, &RunFigures::has_intervals)) return text;
  std::vector<const RunFigures*> runs;
  for (const SweptRun& run : result.runs) {
    if (run.figures) runs.push_back(&*run.figures);
  }
  const std::string likely =
      fmt::format("what the error of prices may make of it ({:.0f} %)", 100 * interval_confidence);
  return text + ink.quiet(fits ? fmt::format("  ~ half of {}\n", likely)
                               : fmt::format("  {}: {}\n", likely,
                                             interval_ranges(columns_of(result), runs)));
}

std::string served_text(const SweepResult& result, const Ink& ink) {
  std::string text;
  std::size_t listed = 0, more = 0;
  for (const SweptRun& run : result.runs) {
    if (!run.figures) continue;
    for (const std::string& loss : losses(*run.figures)) {
      if (++listed > listed_max) {
        ++more;
      } else {
        text +=
            fmt::format("  {} {}: {}\n", ink.warning("!"), run_text(result.plan, run.run), loss);
      }
    }
  }
  if (more > 0) text += fmt::format("  {} and {} more\n", ink.warning("!"), more);
  return text;
}

std::string reasons_text(const SweepResult& result, RunStatus status, std::string_view title,
                         const Ink& ink) {
  const std::vector<FailedRuns> reasons = failed_runs(result, status);
  if (reasons.empty()) return "";
  std::string text = fmt::format("\n  {}\n", ink.strong(title));
  for (const auto& [message, runs] : reasons)
    text += fmt::format("  {} {}: {}\n", ink.bad("✗"), list_text(result.plan, runs, listed_max),
                        message);
  return text;
}

std::string best_text(const SweepResult& result, const Ink& ink) {
  std::string text = result.best.empty() ? "" : "\n";
  for (const BestPoint& best : result.best) {
    std::string others;
    if (result.plan.seeds.size() > 1 && !best.as_good.empty()) {
      others =
          ink.quiet(fmt::format("  within its interval: {}",
                                counted(static_cast<std::int64_t>(best.as_good.size()), "other")));
    }
    text += fmt::format("  {} {:<28}{}{}\n", ink.good("★"), best.goal,
                        point_text(result.plan, best.point), others);
  }
  return text;
}

Value figure_value(const FigureColumn& column, const RunFigures& figures) {
  const double value = column.value(figures);
  if (column.is_count) return static_cast<std::int64_t>(value);
  return rounded(value);
}

Value interval_value(const SeedInterval& interval) {
  Value value;
  value.set("mean", rounded(interval.mean));
  if (interval.half_width) value.set("half_width_95", rounded(*interval.half_width));
  return value;
}

/// Both sources apart, and together: errors of prices and chance have nothing to do with each
/// other.
Value interval_value(const SweepResult& result, std::size_t point, const FigureColumn& column) {
  Value value = interval_value(*result.interval(point, column.value));
  const auto prices = result.price_interval(point, column.name);
  if (!prices) return value;
  value.set("prices_90", ValueArray{rounded(prices->low), rounded(prices->high)});
  const auto both = result.interval_90(point, column);
  value.set("both_90", ValueArray{rounded(both.low), rounded(both.high)});
  return value;
}

Value run_value(const SweepResult& result, const SweptRun& run,
                const std::vector<FigureColumn>& figures) {
  Value value;
  value.set("run", static_cast<std::int64_t>(run.run));
  value.set("settings", result.plan.settings(run.run));
  value.set("status", std::string(enum_name(run.status)));
  if (!run.message.empty()) value.set("reason", run.message);
  if (!run.figures) return value;
  for (const FigureColumn& column : figures)
    value.set(column.name, figure_value(column, *run.figures));
  if (has_price(*run.figures))
    value.set("dollars_per_million_output_tokens", price_of(*run.figures));
  value.set("bound", run.figures->bound);
  set_intervals(figures, *run.figures, value);
  return value;
}

Value settings_of_point(const SweepPlan& plan, std::size_t point) {
  Value settings;
  for (std::size_t i = 0; i < plan.keys.size(); ++i)
    settings.set(plan.keys[i].key, plan.points[point].values[i]);
  return settings;
}

}  // namespace

std::string sweep_table(const SweepResult& result, bool colour, int width, std::size_t rows_max) {
  const Ink ink(colour);
  std::string text = points_text(result, colour, width, rows_max);
  text += served_text(result, ink);
  text += best_text(result, ink);
  text += reasons_text(result, RunStatus::infeasible, "not possible", ink);
  text += reasons_text(result, RunStatus::failed, "failed", ink);
  return text;
}

std::string sweep_csv(const SweepResult& result) {
  const std::vector<FigureColumn> figures = columns_of(result);
  const SweepPlan& plan = result.plan;
  std::string text = "run";
  for (const VariedKey& key : plan.keys) text += ',' + csv_cell(key.key);
  text += plan.seeds.empty() ? ",status" : ",run.seed,status";
  for (const FigureColumn& column : figures) text += fmt::format(",{}", column.name);
  text += ",dollars_per_million_output_tokens,bound,reason";
  const bool bounded = any_run(result, &RunFigures::has_intervals);
  text += (bounded ? interval_headers(figures) : "") + '\n';
  for (const SweptRun& run : result.runs) {
    text += fmt::format("{}", run.run);
    for (const std::string& value : plan.points[plan.point_of(run.run)].values)
      text += ',' + csv_cell(value);
    if (const auto seed = plan.seed_of(run.run)) text += fmt::format(",{}", *seed);
    text += fmt::format(",{}", enum_name(run.status));
    for (const FigureColumn& column : figures) {
      text += ',';
      if (run.figures) text += fmt::format("{}", rounded(column.value(*run.figures)));
    }
    text += ',';
    if (run.figures && has_price(*run.figures)) text += fmt::format("{}", price_of(*run.figures));
    text += fmt::format(
        ",{},{}{}\n", run.figures ? csv_cell(run.figures->bound) : "", csv_cell(run.message),
        bounded ? interval_cells(figures, run.figures ? &*run.figures : nullptr) : "");
  }
  return text;
}

Value sweep_value(const SweepResult& result) {
  const std::vector<FigureColumn> figures = columns_of(result);
  ValueArray runs, points, best;
  for (const SweptRun& run : result.runs) runs.emplace_back(run_value(result, run, figures));
  for (const std::size_t point : points_that_ran(result)) {
    Value value;
    value.set("point", static_cast<std::int64_t>(point));
    value.set("settings", settings_of_point(result.plan, point));
    for (const FigureColumn& column : figures)
      value.set(column.name, interval_value(result, point, column));
    if (const auto price = *result.interval(point, price_of); std::isfinite(price.mean)) {
      value.set("dollars_per_million_output_tokens", interval_value(price));
    }
    points.emplace_back(std::move(value));
  }
  for (const BestPoint& goal : result.best) {
    ValueArray as_good;
    for (const std::size_t point : goal.as_good)
      as_good.emplace_back(static_cast<std::int64_t>(point));
    best.emplace_back(ValueObject{{"goal", goal.goal},
                                  {"point", static_cast<std::int64_t>(goal.point)},
                                  {"within_interval", std::move(as_good)}});
  }
  return ValueObject{{"complete", result.is_complete()},
                     {"runs_wanted", static_cast<std::int64_t>(result.plan.runs())},
                     {"runs", std::move(runs)},
                     {"points", std::move(points)},
                     {"best", std::move(best)}};
}

}  // namespace foretoken
