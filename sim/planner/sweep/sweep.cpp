#include "sim/planner/sweep/sweep.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

using Samples = std::vector<double>;

/// Of each point whose runs are all there and served everything they were sent.
std::vector<Samples> samples_of(const SweepResult& result, const Figure& goal) {
  std::vector<Samples> samples(result.plan.points.size());
  for (const SweptRun& run : result.runs) {
    if (run.report() == nullptr || !is_served(*run.report())) continue;
    if (const auto value = badness(goal, *run.report()))
      samples[result.plan.point_of(run.run)].push_back(*value);
  }
  for (Samples& point : samples) {
    if (point.size() < result.plan.seeds_a_point()) point.clear();
  }
  return samples;
}

std::vector<BestRun> best_points(const SweepResult& result,
                                 const std::vector<const Figure*>& goals) {
  std::vector<BestRun> best;
  for (const Figure* goal : goals) {
    std::vector<std::pair<std::size_t, SeedInterval>> intervals;
    std::optional<std::size_t> least;  // of them
    const std::vector<Samples> samples = samples_of(result, *goal);
    for (std::size_t point = 0; point < samples.size(); ++point) {
      if (samples[point].empty()) continue;
      intervals.emplace_back(point, seed_interval(samples[point]));
      if (!least || intervals.back().second.mean < intervals[*least].second.mean)
        least = intervals.size() - 1;
    }
    if (!least) continue;
    const auto& [winner, winning] = intervals[*least];
    BestRun found{goal, winner, {}};
    for (const auto& [point, interval] : intervals) {
      if (point != winner && interval.overlaps(winning)) found.ties.push_back(point);
    }
    best.push_back(std::move(found));
  }
  return best;
}

/// Leaves of a report what figures() and losses() ask for.
void keep_figures(Report& report) {
  const auto replicas = static_cast<std::int64_t>(figure_named("replicas").value(report));
  report.scenario = ValueObject{{"deployment", ValueObject{{"replicas", replicas}}}};
  report.pools.clear();
  report.timeline = {};
  report.time_by = {};
  report.origins = {};
  report.memory_bytes = {};
  report.step_error = {};
}

}  // namespace

void SweepResult::each_run(std::size_t point, const std::function<void(const Report&)>& use) const {
  const auto before = [&](const SweptRun& run, std::size_t other) {
    return plan.point_of(run.run) < other;
  };
  for (auto run = std::lower_bound(runs.begin(), runs.end(), point, before);
       run != runs.end() && plan.point_of(run->run) == point; ++run) {
    if (run->report() != nullptr) use(*run->report());
  }
}

std::optional<FigureInterval> SweepResult::price_interval(std::size_t point,
                                                          const Figure& figure) const {
  FigureInterval mean;
  int count = 0;
  each_run(point, [&](const Report& report) {
    const auto interval = interval_of(report, figure);
    if (!interval) return;
    mean.low += interval->low;
    mean.high += interval->high;
    ++count;
  });
  if (count == 0) return std::nullopt;
  return FigureInterval{mean.low / count, mean.high / count};
}

FigureInterval SweepResult::interval_90(std::size_t point, const Figure& figure) const {
  const auto seeds = interval(point, figure, interval_confidence);
  const auto prices = price_interval(point, figure);
  FORETOKEN_CHECK(seeds && prices, "no interval of {}", figure.name);
  const double chance = seeds->half_width.value_or(0.0);
  return {std::max(0.0, seeds->mean - std::hypot(chance, seeds->mean - prices->low)),
          seeds->mean + std::hypot(chance, prices->high - seeds->mean)};
}

std::optional<SeedInterval> SweepResult::interval(std::size_t point, const Figure& figure,
                                                  double confidence) const {
  Samples samples;
  each_run(point, [&](const Report& report) {
    if (const auto value = figure.in(report)) samples.push_back(*value);
  });
  if (samples.empty()) return std::nullopt;
  return seed_interval(samples, confidence);
}

SweepResult sweep_result(const SweepPlan& plan, RunStore& store,
                         const std::vector<const Figure*>& wanted) {
  SweepResult result;
  result.plan = plan;
  store.each_finished([&](std::size_t run, RunOutcome outcome) {
    SweptRun& row = result.runs.emplace_back(SweptRun{run, std::move(outcome)});
    if (row.report() == nullptr) return;
    row.bound = bound_of(*row.report());
    keep_figures(row.outcome.report);
  });
  result.best = best_points(result, wanted.empty() ? goals() : wanted);
  return result;
}

}  // namespace foretoken
