// The page of a sweep: any figure over any of its keys, as means over the seeds with intervals for
// the draw of the traffic and for the error of prices; which points are best; every run, with its
// error where it has no figures.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/base/unit_text.hpp"
#include "sim/planner/sweep.hpp"
#include "sim/planner/sweep_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"

namespace foretoken {
namespace {

// Points come twice, in the grid and in their table, with intervals of the seeds and of prices
// about 0.9 KB each; runs take about 80 bytes, with intervals 200. So many stay below 5 MB.
constexpr std::size_t points_max = 3'000, runs_max = 20'000, bounded_runs_max = 10'000;

double scale_of(const FigureColumn& figure) { return figure.is_share ? 100.0 : 1.0; }

std::vector<FigureColumn> shown_figures(const SweepResult& result) {
  std::vector<FigureColumn> shown = columns_of(result);
  if (any_run(result, has_price)) {
    shown.push_back(
        {"dollars_per_million_output_tokens", "", price_of, false, "cost", "$/M tokens"});
  }
  // What the reader most likely came for stands first in the choice.
  std::ranges::stable_partition(shown, [](const FigureColumn& one) { return !one.is_count; });
  return shown;
}

/// For tables, where few columns are in view at first: what it costs, then the tails.
std::vector<FigureColumn> table_figures(const SweepResult& result) {
  std::vector<FigureColumn> figures = shown_figures(result);
  const auto rank = [](const FigureColumn& figure) {
    if (figure.title == "cost") return 0;
    return figure.name.find("p99") != std::string_view::npos ? 1 : 2;
  };
  std::ranges::stable_sort(figures, {}, rank);
  return figures;
}

/// As many as the smallest takes for three significant digits, at most four; none if all are whole.
int decimals_of(const std::vector<double>& numbers) {
  double least = std::numeric_limits<double>::infinity();
  const auto is_whole = [](double number) { return number == std::floor(number); };
  if (std::ranges::all_of(numbers, is_whole)) return 0;
  for (const double number : numbers) {
    if (number != 0 && std::isfinite(number)) least = std::min(least, std::abs(number));
  }
  if (!std::isfinite(least)) return 0;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(least))), 0, 4);
}

/// Of 95 %, for the seeds of a point alone; NaN: not known.
FigureInterval seed_ends(const SweepResult& result, std::size_t point, const FigureColumn& figure) {
  const auto interval = result.interval(point, figure.value);
  if (!interval || !interval->half_width) return {no_value, no_value};
  return {std::max(0.0, interval->mean - *interval->half_width),  // none can be less
          interval->mean + *interval->half_width};
}

/// Means of a figure over the seeds of each of `points`.
PageColumn means(const SweepResult& result, const std::vector<std::size_t>& points,
                 const FigureColumn& figure) {
  PageColumn column =
      PageColumn::of_numbers(std::string(figure.title), std::string(figure.unit), 0, {});
  for (const std::size_t point : points) {
    const auto interval = result.interval(point, figure.value);
    column.numbers.push_back(interval ? interval->mean * scale_of(figure) : no_value);
  }
  if (!figure.is_count) column.decimals = decimals_of(column.numbers);
  return column;
}

/// With the ends of the intervals of seeds and of prices apart.
PageColumn means_of_both(const SweepResult& result, const std::vector<std::size_t>& points,
                         const FigureColumn& figure) {
  PageColumn column = means(result, points, figure);
  if (figure.is_count) return column;
  const bool is_bounded = any_run(result, &RunFigures::has_intervals);
  const double scale = scale_of(figure);
  for (const std::size_t point : points) {
    const FigureInterval seeds = seed_ends(result, point, figure);
    column.low.push_back(seeds.low * scale);
    column.high.push_back(seeds.high * scale);
    if (!is_bounded) continue;
    const FigureInterval prices =
        result.price_interval(point, figure.name).value_or(FigureInterval{no_value, no_value});
    column.price_low.push_back(prices.low * scale);
    column.price_high.push_back(prices.high * scale);
  }
  return column;
}

/// With the ends of the intervals of 90 % for seeds and prices together; of the seeds where nothing
/// is known of prices.
PageColumn means_together(const SweepResult& result, const std::vector<std::size_t>& points,
                          const FigureColumn& figure) {
  PageColumn column = means(result, points, figure);
  const bool is_known = result.plan.seeds.size() > 1 || any_run(result, &RunFigures::has_intervals);
  if (figure.is_count || !is_known) return column;
  for (const std::size_t point : points) {
    const FigureInterval ends = result.price_interval(point, figure.name)
                                    ? result.interval_90(point, figure)
                                    : seed_ends(result, point, figure);
    column.low.push_back(ends.low * scale_of(figure));
    column.high.push_back(ends.high * scale_of(figure));
  }
  return column;
}

/// The values of a key as numbers of one unit; empty if they are none.
template <class Quantity>
std::vector<double> quantities(const std::vector<std::string>& values) {
  std::vector<double> numbers;
  for (const std::string& value : values) {
    Quantity quantity;
    if (parse_quantity(value, quantity)) return {};
    numbers.push_back(quantity.value());
  }
  return numbers;
}

/// "4 /s" as 4 and "/s". nullopt: does not begin with a number.
std::optional<std::pair<double, std::string>> split_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  std::string unit(read, end);
  unit.erase(0, unit.find_first_not_of(' '));
  return std::pair(number, unit);
}

/// Numbers and their unit: as written if all have the same, else in the base unit.
void read_numbers(PageGrid::Key& key) {
  std::vector<std::string> plain = key.values;
  for (std::string& value : plain) std::erase(value, '"');
  bool is_alike = true;
  std::optional<std::string> unit;
  for (const std::string& value : plain) {
    const auto split = split_number(value);
    is_alike = is_alike && split && split->second == unit.value_or(split->second);
    if (!is_alike) break;
    unit = split->second;
    key.numbers.push_back(split->first);
  }
  if (is_alike) {
    key.unit = unit.value_or("");
    return;
  }
  const auto take = [&](std::vector<double> numbers, const char* base) {
    key.numbers = std::move(numbers);
    key.unit = base;
    return !key.numbers.empty();
  };
  if (take(quantities<Seconds>(plain), "s") || take(quantities<Bytes>(plain), "B") ||
      take(quantities<PerSecond>(plain), "/s") || take(quantities<BytesPerSecond>(plain), "B/s") ||
      take(quantities<FlopsPerSecond>(plain), "FLOP/s")) {
    return;
  }
  key.unit.clear();
}

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

PageGrid grid_of(const SweepResult& result, const std::vector<std::size_t>& points) {
  PageGrid grid = keys_of(result.plan, points);
  for (const FigureColumn& figure : shown_figures(result)) {
    PageColumn column = means_together(result, points, figure);
    grid.figures.push_back({column.name, column.unit, column.decimals, figure.more_is_better,
                            std::move(column.numbers), std::move(column.low),
                            std::move(column.high)});
  }
  return grid;
}

std::string cut_note(std::size_t shown, std::size_t all, const char* what) {
  if (shown == all) return "";
  return fmt::format(" The first {} of {} {}; --csv has all.",
                     grouped(static_cast<std::int64_t>(shown)),
                     grouped(static_cast<std::int64_t>(all)), what);
}

/// Of points, one a row: the values of all keys.
void add_key_columns(std::vector<PageColumn>& columns, const SweepPlan& plan,
                     const std::vector<std::size_t>& points) {
  const PageGrid grid = keys_of(plan, points);
  for (std::size_t k = 0; k < grid.keys.size(); ++k) {
    const PageGrid::Key& key = grid.keys[k];
    PageColumn column;
    column.name = key.name;
    column.unit = key.unit;
    column.is_key = true;
    column.is_text = key.numbers.empty();
    if (!column.is_text) column.decimals = decimals_of(key.numbers);
    for (const std::size_t place : grid.places[k]) {
      if (column.is_text) {
        column.texts.push_back(key.values[place]);
      } else {
        column.numbers.push_back(key.numbers[place]);
      }
    }
    columns.push_back(std::move(column));
  }
}

void add_points(ReportPage& page, const SweepResult& result,
                const std::vector<std::size_t>& points) {
  std::vector<PageColumn> columns;
  add_key_columns(columns, result.plan, points);
  for (const FigureColumn& figure : table_figures(result))
    columns.push_back(means_of_both(result, points, figure));
  std::vector<std::string> bounds, goals;
  for (const std::size_t point : points) {
    bounds.push_back(bound_of(result, point));
    std::string text;
    for (const BestPoint& best : result.best) {
      if (best.point == point) text += (text.empty() ? "" : ", ") + best.goal;
    }
    goals.push_back(text);
  }
  columns.push_back(PageColumn::of_texts("bound by", std::move(bounds)));
  columns.push_back(PageColumn::of_texts("best by", std::move(goals)));
  put_costs_first(columns);
  page.table("point", columns);
}

/// A figure run by run, with what prices may make of it if `is_bounded`.
PageColumn figures_of_runs(const std::vector<SweptRun>& runs, const FigureColumn& figure,
                           bool is_bounded) {
  PageColumn column =
      PageColumn::of_numbers(std::string(figure.title), std::string(figure.unit), 0, {});
  const double scale = scale_of(figure);
  for (const SweptRun& run : runs) {
    column.numbers.push_back(run.figures ? figure.value(*run.figures) * scale : no_value);
    if (!is_bounded || figure.is_count) continue;
    const auto prices = run.figures ? interval_of(*run.figures, figure.name) : std::nullopt;
    column.price_low.push_back(prices ? prices->low * scale : no_value);
    column.price_high.push_back(prices ? prices->high * scale : no_value);
  }
  if (!figure.is_count) column.decimals = decimals_of(column.numbers);
  return column;
}

void add_runs(ReportPage& page, const SweepResult& result) {
  const bool is_bounded = any_run(result, &RunFigures::has_intervals);
  const std::size_t count = std::min(result.runs.size(), is_bounded ? bounded_runs_max : runs_max);
  page.section("Runs",
               fmt::format("Every run, those that have no figures with their error.{} Press "
                           "a column's name to sort by it.{}",
                           is_bounded ? " In square brackets what the error of prices may "
                                        "make of a figure (90 %)."
                                      : "",
                           cut_note(count, result.runs.size(), "runs")));
  const std::vector<SweptRun> runs(result.runs.begin(),
                                   result.runs.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<std::size_t> points;
  std::vector<double> seeds;
  std::vector<std::string> statuses, bounds, messages;
  for (const SweptRun& run : runs) {
    points.push_back(result.plan.point_of(run.run));
    if (const auto seed = result.plan.seed_of(run.run)) seeds.push_back(double(*seed));
    statuses.emplace_back(enum_name(run.status));
    bounds.push_back(run.figures ? run.figures->bound : "");
    messages.push_back(run.message);
  }
  std::vector<PageColumn> columns;
  add_key_columns(columns, result.plan, points);
  if (!seeds.empty()) columns.push_back(PageColumn::of_numbers("seed", "", 0, std::move(seeds)));
  for (const FigureColumn& figure : table_figures(result))
    columns.push_back(figures_of_runs(runs, figure, is_bounded));
  columns.push_back(PageColumn::of_texts("status", std::move(statuses)));
  columns.push_back(PageColumn::of_texts("bound by", std::move(bounds)));
  const auto is_told = [](const std::string& message) { return !message.empty(); };
  if (std::ranges::any_of(messages, is_told))
    columns.push_back(PageColumn::of_texts("error", std::move(messages)));
  put_costs_first(columns);
  page.table("run", columns);
}

void add_tiles(ReportPage& page, const SweepResult& result) {
  const SweepPlan& plan = result.plan;
  std::vector<PageTile> tiles;
  std::int64_t ran = 0, infeasible = 0, failed = 0;
  for (const SweptRun& run : result.runs) {
    ++(run.status == RunStatus::ran          ? ran
       : run.status == RunStatus::infeasible ? infeasible
                                             : failed);
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
  for (const BestPoint& best : result.best) {
    const std::string name = point_text(plan, best.point);
    const auto known = std::ranges::find(tiles, name, &PageTile::value);
    if (known != tiles.end()) {
      known->label += ", " + best.goal;
      continue;
    }
    tiles.push_back({best.goal, name, "",
                     best.as_good.empty() || plan.seeds.size() < 2
                         ? ""
                         : fmt::format("within its interval: {}",
                                       counted(std::int64_t(best.as_good.size()), "other"))});
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
  page.section("Without figures", "Not possible, or failed: each reason with what it holds for.");
  page.notes(notes);
}

/// What the whiskers of the figures are.
std::string whisker_note(bool is_seeded, bool is_bounded) {
  if (is_seeded && is_bounded) {
    return " Means over the seeds; whiskers and brackets are 90 % intervals of the seeds and of "
           "the "
           "error of prices together.";
  }
  if (is_seeded) return " Means over the seeds; whiskers and brackets are their 95 % intervals.";
  if (is_bounded) {
    return " Whiskers and brackets are what the error of prices may make of a figure (90 %).";
  }
  return "";
}

std::vector<std::string> interval_notes(bool is_seeded, bool is_bounded) {
  std::vector<std::string> notes = {
      is_seeded
          ? "Intervals of the seeds are of the draw of the traffic alone (Student's t); which "
            "points are within the best one's interval goes by them."
          : "One run a point: what the draw of the traffic does to a figure is not known "
            "(--seeds)."};
  if (is_bounded) {
    notes.emplace_back(
        "Intervals of prices come from the predictor's held-out errors. Points on one GPU share "
        "these, so they seldom turn their order.");
  } else {
    notes.emplace_back("The predictor's error is in no interval here ([run] intervals).");
  }
  if (is_seeded && is_bounded) {
    notes.emplace_back(
        "Chance and prices have nothing to do with each other: together they reach "
        "as far as the root of the sum of their squares.");
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
  const bool is_bounded = any_run(result, &RunFigures::has_intervals);
  if (!points.empty()) {
    page.section("Figures", fmt::format("Choose a figure and what runs along the axis.{}{}",
                                        whisker_note(is_seeded, is_bounded),
                                        cut_note(points.size(), all, "points")));
    page.grid(grid_of(result, points));
    if (is_seeded) {
      page.section("Points",
                   is_bounded ? "Means over the seeds, in round brackets their 95 % intervals, "
                                "in square ones what the error of prices may make of them (90 %)."
                              : "Means over the seeds, in brackets their 95 % intervals.");
      add_points(page, result, points);
    }
  }
  add_failures(page, result);
  if (!result.runs.empty()) add_runs(page, result);
  page.section("How sure this is");
  std::vector<std::string> notes = interval_notes(is_seeded, is_bounded);
  notes.emplace_back("Best are points whose runs served every request that they were sent.");
  if (!result.is_complete())
    notes.emplace_back("Not all runs are finished; the same command goes on.");
  page.notes(notes);
  page.section("Scenario", "What all runs have in common.");
  page.text("scenario.toml", scenario);
  page.text("As in the terminal", sweep_table(result, false, 120, 60));
  return page.html();
}

}  // namespace foretoken
