#include "sim/planner/sweep/sweep_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/unit_text.hpp"

namespace foretoken {
namespace {

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

}  // namespace

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

std::vector<std::string> labels_of(const SweepPlan& plan) {
  const auto short_name = [](std::string key) {
    if (key.ends_with(".name")) key.erase(key.rfind('.'));  // cluster.name: a cluster
    return key.substr(key.rfind('.') + 1);
  };
  std::vector<std::string> labels;
  for (const VariedKey& key : plan.keys) {
    const std::string name = short_name(key.key);
    const auto alike = std::ranges::count_if(
        plan.keys, [&](const VariedKey& other) { return short_name(other.key) == name; });
    labels.push_back(alike > 1 ? key.key : name);
  }
  return labels;
}

std::string point_text(const SweepPlan& plan, std::size_t point) {
  const std::vector<std::string> labels = labels_of(plan);
  std::string text;
  for (std::size_t i = 0; i < labels.size(); ++i)
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", labels[i], plan.points[point].values[i]);
  return text.empty() ? "the scenario" : text;
}

std::string run_text(const SweepPlan& plan, std::size_t run) {
  const std::string text = point_text(plan, plan.point_of(run));
  const auto seed = plan.seed_of(run);
  return seed ? fmt::format("{}, seed {}", text, *seed) : text;
}

std::string list_text(const SweepPlan& plan, const std::vector<std::size_t>& runs,
                      std::size_t listed_max) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < runs.size();) {
    const std::size_t last = i + plan.seeds_a_point() - 1;
    const std::size_t point = plan.point_of(runs[i]);
    const bool is_whole = runs[i] % plan.seeds_a_point() == 0 && last < runs.size() &&
                          plan.point_of(runs[last]) == point;
    names.push_back(is_whole ? point_text(plan, point) : run_text(plan, runs[i]));
    i += is_whole ? plan.seeds_a_point() : 1;
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), listed_max));
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, " · "));
  if (names.size() <= listed_max) return text;
  return fmt::format("{} · and {} more", text, names.size() - listed_max);
}

std::vector<std::size_t> points_that_ran(const SweepResult& result) {
  std::vector<std::size_t> points;
  for (const SweptRun& run : result.runs) {
    const std::size_t point = result.plan.point_of(run.run);
    if (run.report() != nullptr && (points.empty() || points.back() != point))
      points.push_back(point);
  }
  return points;
}

std::vector<ReasonGroup<std::size_t>> failed_runs(const SweepResult& result, RunStatus status) {
  std::vector<ReasonGroup<std::size_t>> reasons;
  for (const SweptRun& run : result.runs) {
    if (run.outcome.status == status) add_reason(reasons, run.outcome.message, run.run);
  }
  return reasons;
}

namespace {

/// What was varied; on the page as numbers, where all its values are some.
void add_keys(ResultTable& table, const SweepPlan& plan, const std::vector<std::size_t>& points) {
  const std::vector<std::string> labels = labels_of(plan);
  for (std::size_t k = 0; k < plan.keys.size(); ++k) {
    PageGrid::Key key{labels[k], "", plan.keys[k].values, {}};
    read_numbers(key);
    ResultColumn column{plan.keys[k].key, labels[k], key.unit, labels[k], ResultKind::key};
    column.group = "settings";
    table.add(std::move(column), points, [&](std::size_t point) {
      ResultCell cell{.text = plan.points[point].values[k]};
      const auto place = std::ranges::find(key.values, cell.text) - key.values.begin();
      if (!key.numbers.empty()) cell.number = key.numbers[static_cast<std::size_t>(place)];
      return cell;
    });
  }
}

/// Of a figure at each point, over its seeds.
ResultColumn means(const SweepResult& result, const std::vector<std::size_t>& points,
                   const ResultColumn& of_runs) {
  ResultColumn column = of_runs;
  const Figure& figure = figure_named(column.name);
  column.cells.clear();
  for (const std::size_t point : points) {
    ResultCell& cell = column.cells.emplace_back();
    const auto seeds = result.interval(point, figure);
    if (!seeds) continue;
    cell.number = seeds->mean;
    if (figure.kind == FigureKind::count) continue;
    cell.chance = seeds->half_width;
    cell.prices = result.price_interval(point, figure);
    if (cell.prices) cell.both = result.interval_90(point, figure);
  }
  return column;
}

}  // namespace

ResultTable run_columns(const SweepResult& result) {
  using Run = const SweptRun&;
  const SweepPlan& plan = result.plan;
  std::vector<std::size_t> points;
  std::vector<const Report*> reports;
  for (const SweptRun& run : result.runs) {
    points.push_back(plan.point_of(run.run));
    reports.push_back(run.report());
  }
  ResultTable table;
  const ColumnsOf add(table, result.runs);
  add({"run", "", "", "", ResultKind::count}, &SweptRun::run);
  add_keys(table, plan, points);
  if (!plan.seeds.empty()) {
    ResultColumn column{"run.seed", "seed", "", "seed", ResultKind::key};
    column.group = "settings";
    add(std::move(column), [&](Run run) { return fmt::format("{}", *plan.seed_of(run.run)); });
  }
  add({"status", "status"}, [](Run run) { return enum_name(run.outcome.status); });
  add_figures(table, reports, asked_figures(result.best));
  add({"bound", "bound by"}, &SweptRun::bound);
  add({"reason", "error"}, [](Run run) { return run.outcome.message; });
  return table;
}

ResultTable point_columns(const SweepResult& result, const std::vector<std::size_t>& points,
                          const Ink& ink) {
  ResultTable table;
  add_keys(table, result.plan, points);
  if (result.plan.seeds.size() > 1) {
    table.add({"", "", "", "seeds", ResultKind::count}, points, [&](std::size_t point) {
      int count = 0;
      result.each_run(point, [&](const Report&) { ++count; });
      return count;
    });
  }
  std::vector<const Report*> reports;
  for (const SweptRun& run : result.runs) reports.push_back(run.report());
  ResultTable of_runs;
  add_figures(of_runs, reports, asked_figures(result.best));
  for (const ResultColumn& column : of_runs.columns)
    table.columns.push_back(means(result, points, column));
  table.add({"", "bound by", "", "bound by"}, points, [&](std::size_t point) {
    const auto point_of = [&](const SweptRun& run) { return result.plan.point_of(run.run); };
    const auto runs = std::ranges::equal_range(result.runs, point, {}, point_of);
    const auto ran = [](const SweptRun& run) { return run.report() != nullptr; };
    return std::ranges::find_if(runs, ran)->bound;
  });
  table.add({"", "", "", " "}, points,
            [&](std::size_t point) { return stars_of(result.best, point, false, ink); });
  table.add({"", "best by"}, points,
            [&](std::size_t point) { return goals_of(result.best, point, ", ", false); });
  return table;
}

}  // namespace foretoken
