// The page of a sweep: any figure over any of its keys, as means over the seeds with intervals for
// the draw of the traffic and for the error of prices; which points are best; every run, with its
// error where it has no figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/planner/sweep/sweep.hpp"
#include "sim/planner/sweep/sweep_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"

namespace foretoken {
namespace {

// Points come twice, in the grid and in their table, with intervals of the seeds and of prices
// about 0.9 KB each; runs take about 80 bytes, with intervals 200. So many stay below 5 MB.
constexpr std::size_t points_max = 3'000, runs_max = 20'000, bounded_runs_max = 10'000;

/// The keys, and where each of `points` stands along them.
PageGrid keys_of(const SweepPlan& plan, const std::vector<std::size_t>& points) {
  PageGrid grid;
  const std::vector<std::string> labels = labels_of(plan);
  std::size_t combinations = 1;
  for (std::size_t k = 0; k < plan.keys.size(); ++k) {
    PageGrid::Key& key = grid.keys.emplace_back();
    key.name = labels[k];
    key.values = plan.keys[k].values;
    read_numbers(key);
    combinations *= key.values.size();
    std::vector<std::size_t>& places = grid.places.emplace_back();
    for (const std::size_t point : points) {
      const auto value = std::ranges::find(key.values, plan.points[point].values[k]);
      places.push_back(static_cast<std::size_t>(value - key.values.begin()));
    }
  }
  grid.is_crossed = combinations == plan.points.size();
  return grid;
}

/// A figure at each point, with the ends of what chance and prices leave open: of 90 % together, of
/// chance alone where nothing is known of prices.
PageGrid::Figure grid_figure(const ResultColumn& column) {
  const Figure& figure = figure_named(column.name);
  PageGrid::Figure shown{column.title, column.unit};
  shown.more_is_better = figure.better == Better::higher;
  for (const ResultCell& cell : column.cells)
    shown.means.push_back(cell.number ? *cell.number * figure.scale() : no_value);
  shown.decimals = figure.kind == FigureKind::count ? 0 : decimals_of(shown.means);
  const auto is_bounded = [](const ResultCell& cell) { return cell.chance || cell.both; };
  if (std::ranges::none_of(column.cells, is_bounded)) return shown;
  for (const ResultCell& cell : column.cells) {
    FigureInterval ends{no_value, no_value};
    if (cell.both) {
      ends = *cell.both;
    } else if (cell.chance) {
      ends = {std::max(0.0, *cell.number - *cell.chance), *cell.number + *cell.chance};
    }
    shown.low.push_back(ends.low * figure.scale());
    shown.high.push_back(ends.high * figure.scale());
  }
  return shown;
}

PageGrid grid_of(const SweepResult& result, const ResultTable& table,
                 const std::vector<std::size_t>& points) {
  PageGrid grid = keys_of(result.plan, points);
  for (const bool counts : {false, true}) {  // what the reader most likely came for stands first
    for (const ResultColumn& column : table.columns) {
      const bool is_figure =
          column.kind != ResultKind::key && !column.name.empty() && !column.title.empty();
      if (is_figure && counts == (column.kind == ResultKind::count))
        grid.figures.push_back(grid_figure(column));
    }
  }
  return grid;
}

std::string cut_note(std::size_t shown, std::size_t all, const char* what) {
  if (shown == all) return "";
  return fmt::format(" The first {} of {} {}; --csv has all.",
                     grouped(static_cast<std::int64_t>(shown)),
                     grouped(static_cast<std::int64_t>(all)), what);
}

void add_runs(ReportPage& page, const SweepResult& result) {
  const ResultTable table = run_columns(result);
  const bool is_bounded = table.has_prices();
  const std::size_t count = std::min(result.runs.size(), is_bounded ? bounded_runs_max : runs_max);
  page.section(
      "Runs",
      fmt::format("Every run, with the error where it produced no figures.{} Click a column header "
                  "to sort.{}",
                  is_bounded ? " In square brackets 90 % intervals (kernel-price error)." : "",
                  cut_note(count, result.runs.size(), "runs")));
  page.table("run", table.page(count));
}

void add_tiles(ReportPage& page, const SweepResult& result) {
  const SweepPlan& plan = result.plan;
  std::vector<PageTile> tiles;
  std::int64_t ran = 0, infeasible = 0, failed = 0;
  for (const SweptRun& run : result.runs) {
    const RunStatus status = run.outcome.status;
    ++(status == RunStatus::ran ? ran : status == RunStatus::infeasible ? infeasible : failed);
  }
  tiles.push_back(
      {"Runs", grouped(ran), fmt::format("of {}", grouped(static_cast<std::int64_t>(plan.runs()))),
       fmt::format("{} · {}", counted(std::int64_t(plan.points.size()), "point"),
                   plan.seeds.empty() ? "the scenario's own seed"
                                      : counted(std::int64_t(plan.seeds.size()), "seed") + " each"),
       result.is_complete() ? PageTile::Tone::plain : PageTile::Tone::bad});
  if (infeasible > 0) tiles.push_back({"Not possible", grouped(infeasible), "runs", ""});
  if (failed > 0) {
    tiles.push_back({"Failed", grouped(failed), "runs", "", PageTile::Tone::bad});
  }
  for (const BestRun& best : result.best) {
    const std::string name = point_text(plan, best.place);
    const auto known = std::ranges::find(tiles, name, &PageTile::value);
    if (known != tiles.end()) {
      known->label += ", " + best.goal();
      continue;
    }
    tiles.push_back(
        {best.goal(), name, "",
         best.ties.empty() || plan.seeds.size() < 2
             ? ""
             : fmt::format("tied with {}", counted(std::int64_t(best.ties.size()), "other"))});
  }
  page.tiles(tiles);
}

void add_failures(ReportPage& page, const SweepResult& result) {
  constexpr std::size_t listed_max = 20;
  std::vector<std::string> notes;
  for (const RunStatus status : {RunStatus::infeasible, RunStatus::failed}) {
    for (const auto& [message, runs] : failed_runs(result, status))
      notes.push_back(list_text(result.plan, runs, listed_max) + ": " + message);
  }
  if (notes.empty()) return;
  page.section("Without figures", "Infeasible or failed points, grouped by reason.");
  page.notes(notes);
}

/// What the whiskers of the figures are.
std::string whisker_note(bool is_seeded, bool is_bounded) {
  if (is_seeded && is_bounded) {
    return " Means over the seeds; whiskers and brackets are 90 % intervals from seeds and "
           "kernel-price error together.";
  }
  if (is_seeded) return " Means over the seeds; whiskers and brackets are their 95 % intervals.";
  if (is_bounded) {
    return " Whiskers and brackets are 90 % intervals (kernel-price error).";
  }
  return "";
}

std::vector<std::string> interval_notes(bool is_seeded, bool is_bounded) {
  std::vector<std::string> notes = {
      is_seeded ? "Seed intervals (Student's t) cover random traffic only; ties with the best "
                  "point are judged by them."
                : "One run per point: the effect of random traffic is unknown (--seeds)."};
  if (is_bounded) {
    notes.emplace_back(
        "Kernel-price intervals come from the predictor's held-out errors. Points on the same GPU "
        "share these errors, so their order rarely changes.");
  } else {
    notes.emplace_back("No interval here includes the predictor's error ([run] intervals).");
  }
  if (is_seeded && is_bounded) {
    notes.emplace_back(
        "Both sources of error are independent, so they are combined as the root of the sum of "
        "squares.");
  }
  return notes;
}

}  // namespace

std::string sweep_page(const SweepResult& result, const std::string& title,
                       const std::string& scenario, const std::string& version) {
  ReportPage page(title, "sweep", version);
  add_tiles(page, result);
  std::vector<std::size_t> points = points_that_ran(result);
  const std::size_t all = points.size();
  points.resize(std::min(all, points_max));
  const bool is_seeded = result.plan.seeds.size() > 1;
  const ResultTable table = point_columns(result, points, Ink(false));
  const bool is_bounded = table.has_prices();
  if (!points.empty()) {
    page.section("Figures", fmt::format("Choose a figure and the x axis.{}{}",
                                        whisker_note(is_seeded, is_bounded),
                                        cut_note(points.size(), all, "points")));
    page.grid(grid_of(result, table, points));
    if (is_seeded) {
      page.section("Points", is_bounded
                                 ? "Means over the seeds, in round brackets their 95 % intervals, "
                                   "in square ones 90 % intervals (kernel-price error)."
                                 : "Means over the seeds, in brackets their 95 % intervals.");
      page.table("point", table.page(points.size()));
    }
  }
  add_failures(page, result);
  if (!result.runs.empty()) add_runs(page, result);
  page.section("Confidence");
  std::vector<std::string> notes = interval_notes(is_seeded, is_bounded);
  notes.emplace_back("Only points whose runs served every request can be best.");
  if (!result.is_complete())
    notes.emplace_back("Not all runs are finished; run the same command to continue.");
  page.notes(notes);
  page.section("Scenario", "Common to all runs.");
  page.text("scenario.toml", scenario);
  page.text("Terminal output", sweep_table(result, false, 120, 60));
  return page.html();
}

}  // namespace foretoken
