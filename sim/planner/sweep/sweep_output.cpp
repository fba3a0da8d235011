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
  const ResultTable::Fitted fitted = table.fitted(" ~", colour, width);
  std::string text = fitted.text;
  if (all > rows_max)
    text += fmt::format("  … and {} more, in the store and with --csv\n", all - rows_max);
  const bool seeded = result.plan.seeds.size() > 1;
  text += ink.quiet(units_note(table) +
                    (seeded ? "  means over the seeds ± half the 95 % interval\n" : ""));
  if (!table.has_prices()) return text;
  return text + ink.quiet(prices_note(fitted, "~", "", price_ranges(result)));
}

std::string best_text(const SweepResult& result, const Ink& ink) {
  std::string text = result.best.empty() ? "" : "\n";
  for (const BestRun& best : result.best) {
    std::string others;
    if (result.plan.seeds.size() > 1 && !best.ties.empty()) {
      others = ink.quiet(fmt::format(
          "  tied with {}", counted(static_cast<std::int64_t>(best.ties.size()), "other")));
    }
    text += fmt::format("  {} {:<28}{}{}\n", ink.good("★"), best.goal(),
                        point_text(result.plan, best.place), others);
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
  const auto name_of = [&](const SweptRun& run) { return run_text(result.plan, run.run); };
  text += losses_text(result.runs, name_of, listed_max, ink);
  text += best_text(result, ink);
  const auto list = [&](const std::vector<std::size_t>& runs) {
    return list_text(result.plan, runs, listed_max);
  };
  return text +
         reasons_text("not possible", failed_runs(result, RunStatus::infeasible), list, ink) +
         reasons_text("failed", failed_runs(result, RunStatus::failed), list, ink);
}

std::string sweep_csv(const SweepResult& result) { return run_columns(result).csv(); }

Value sweep_value(const SweepResult& result) {
  const std::vector<std::size_t> ran = points_that_ran(result);
  ValueArray points = point_columns(result, ran, Ink(false)).json(mean_value);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].set("point", static_cast<std::int64_t>(ran[i]));
  return ValueObject{{"complete", result.is_complete()},
                     {"runs_wanted", static_cast<std::int64_t>(result.plan.runs())},
                     {"runs", run_columns(result).json()},
                     {"points", std::move(points)},
                     {"best", best_value(result.best, "point", "within_interval")}};
}

}  // namespace foretoken
