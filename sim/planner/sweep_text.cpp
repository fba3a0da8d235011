#include "sim/planner/sweep_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace foretoken {

bool any_run(const SweepResult& result, const std::function<bool(const RunFigures&)>& is_so) {
  return std::ranges::any_of(
      result.runs, [&](const SweptRun& run) { return run.figures && is_so(*run.figures); });
}

bool has_price(const RunFigures& figures) { return figures.dollars_per_million.has_value(); }

double price_of(const RunFigures& figures) {
  return figures.dollars_per_million.value_or(std::numeric_limits<double>::quiet_NaN());
}

std::vector<FigureColumn> columns_of(const SweepResult& result) {
  std::vector<FigureColumn> all(figure_columns().begin(), figure_columns().end());
  if (any_run(result, [](const RunFigures& f) { return f.has_slo; }))
    all.insert(all.end(), slo_figure_columns().begin(), slo_figure_columns().end());
  return all;
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

std::string bound_of(const SweepResult& result, std::size_t point) {
  const auto point_of = [&](const SweptRun& run) { return result.plan.point_of(run.run); };
  for (const SweptRun& run : std::ranges::equal_range(result.runs, point, {}, point_of)) {
    if (run.figures) return run.figures->bound;
  }
  return "";
}

std::vector<std::size_t> points_that_ran(const SweepResult& result) {
  std::vector<std::size_t> points;
  for (const SweptRun& run : result.runs) {
    const std::size_t point = result.plan.point_of(run.run);
    if (run.figures && (points.empty() || points.back() != point)) points.push_back(point);
  }
  return points;
}

std::vector<FailedRuns> failed_runs(const SweepResult& result, RunStatus status) {
  std::vector<FailedRuns> reasons;
  for (const SweptRun& run : result.runs) {
    if (run.status != status) continue;
    const auto known = std::ranges::find(reasons, run.message, &FailedRuns::message);
    if (known == reasons.end()) {
      reasons.push_back({run.message, {run.run}});
    } else {
      known->runs.push_back(run.run);
    }
  }
  return reasons;
}

}  // namespace foretoken
