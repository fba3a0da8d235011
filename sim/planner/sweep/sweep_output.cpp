// A sweep as a table for the terminal (a line a point: means over its seeds with 95 % intervals),
// as CSV (a line a run) and as JSON (both). All in the order of the plan, without wall times, so
// that the same sweep gives the same bytes however it was run.
#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/sweep/sweep.hpp"
#include "sim/planner/sweep/sweep_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

// Of a list within a line of the terminal; the files have all.
constexpr std::size_t listed_max = 6;

/// "per GPU" says nothing where all runs have as many, and intervals need the room.
void leave_out_per_gpu(ResultTable& table, const SweepResult& result) {
  std::optional<int> gpus;
  bool gpus_differ = false;
  for (const SweptRun& run : result.runs) {
    if (run.report() == nullptr) continue;
    gpus_differ = gpus_differ || run.report()->gpus != gpus.value_or(run.report()->gpus);
    gpus = run.report()->gpus;
  }
  if (gpus_differ && result.plan.seeds.size() < 2) return;
  for (ResultColumn& column : table.columns) {
    if (column.header == "/GPU") column.header = "";
  }
}

/// Over runs, not points, whose means hide how far the intervals differ.
std::string price_ranges(const SweepResult& result) { return run_columns(result).price_ranges(); }

/// The table and what its figures are. What prices may make of latencies stands beside them if
/// there is room, else below.
std::string points_text(const SweepResult& result, bool colour, int width, std::size_t rows_max) {
  std::vector<std::size_t> points = points_that_ran(result);
  if (points.empty()) return "";
  const std::size_t all = points.size();
  points.resize(std::min(all, rows_max));
  const Ink ink(colour);
  ResultTable table = point_columns(result, points, ink);
  leave_out_per_gpu(table, result);
  auto [text, fits] = table.fitted(" ~", colour, width);
  if (all > rows_max)
    text += fmt::format("  … and {} more, in the store and with --csv\n", all - rows_max);
  const bool has_slo = std::ranges::any_of(
      table.columns, [](const ResultColumn& column) { return column.name == "attainment"; });
  const bool seeded = result.plan.seeds.size() > 1;
  text += ink.quiet(fmt::format(
      "  latencies in ms · output tokens{} per second · $ per million output tokens\n{}",
      has_slo ? " and requests within the SLO" : "",
      seeded ? "  means over the seeds ± half the 95 % interval\n" : ""));
  if (!table.has_prices()) return text;
  const std::string likely =
      fmt::format("{:.0f} % interval (kernel-price error)", 100 * interval_confidence);
  return text + ink.quiet(fits ? fmt::format("  ~ half the {}\n", likely)
                               : fmt::format("  {}: {}\n", likely, price_ranges(result)));
}

std::string served_text(const SweepResult& result, const Ink& ink) {
  std::string text;
  std::size_t listed = 0, more = 0;
  for (const SweptRun& run : result.runs) {
    if (run.report() == nullptr) continue;
    for (const std::string& loss : losses(*run.report())) {
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
      others = ink.quiet(fmt::format(
          "  tied with {}", counted(static_cast<std::int64_t>(best.as_good.size()), "other")));
    }
    text += fmt::format("  {} {:<28}{}{}\n", ink.good("★"), best.goal(),
                        point_text(result.plan, best.point), others);
  }
  return text;
}

/// Chance and prices apart, and together: they have nothing to do with each other.
Value mean_value(const ResultCell& cell) {
  Value value;
  value.set("mean", rounded(*cell.number));
  if (cell.chance) value.set("half_width_95", rounded(*cell.chance));
  const auto set = [&](const char* name, const std::optional<FigureInterval>& ends) {
    if (ends) value.set(name, ValueArray{rounded(ends->low), rounded(ends->high)});
  };
  set("prices_90", cell.prices);
  set("both_90", cell.both);
  return value;
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

std::string sweep_csv(const SweepResult& result) { return run_columns(result).csv(); }

Value sweep_value(const SweepResult& result) {
  const std::vector<std::size_t> ran = points_that_ran(result);
  ValueArray points = point_columns(result, ran, Ink(false)).json(mean_value), best;
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].set("point", static_cast<std::int64_t>(ran[i]));
  for (const BestPoint& goal : result.best) {
    ValueArray as_good;
    for (const std::size_t point : goal.as_good)
      as_good.emplace_back(static_cast<std::int64_t>(point));
    best.emplace_back(ValueObject{{"goal", goal.goal()},
                                  {"point", static_cast<std::int64_t>(goal.point)},
                                  {"within_interval", std::move(as_good)}});
  }
  return ValueObject{{"complete", result.is_complete()},
                     {"runs_wanted", static_cast<std::int64_t>(result.plan.runs())},
                     {"runs", run_columns(result).json()},
                     {"points", std::move(points)},
                     {"best", std::move(best)}};
}

}  // namespace foretoken
