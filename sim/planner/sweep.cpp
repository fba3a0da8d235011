#include "sim/planner/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/planner/goals.hpp"

namespace foretoken {
namespace {

// Leases are renewed so often that two renewals may fail to come before others take over.
constexpr double renewals_a_lease = 4;

// What others finish is looked for so often.
constexpr double poll_s = 0.25;

using Samples = std::vector<double>;

/// Of each point whose runs are all there and served everything they were sent.
std::vector<Samples> samples_of(const SweepResult& result, const Goal& goal) {
  std::vector<Samples> samples(result.plan.points.size());
  for (const SweptRun& run : result.runs) {
    if (!run.figures || !is_served(*run.figures)) continue;
    if (const auto value = goal.value(*run.figures))
      samples[result.plan.point_of(run.run)].push_back(*value);
  }
  for (Samples& point : samples) {
    if (point.size() < result.plan.seeds_a_point()) point.clear();
  }
  return samples;
}

std::vector<BestPoint> best_points(const SweepResult& result) {
  std::vector<BestPoint> best;
  for (const Goal& goal : goals()) {
    std::vector<std::pair<std::size_t, SeedInterval>> intervals;
    std::optional<std::size_t> least;  // of them
    const std::vector<Samples> samples = samples_of(result, goal);
    for (std::size_t point = 0; point < samples.size(); ++point) {
      if (samples[point].empty()) continue;
      intervals.emplace_back(point, seed_interval(samples[point]));
      if (!least || intervals.back().second.mean < intervals[*least].second.mean)
        least = intervals.size() - 1;
    }
    if (!least) continue;
    const auto& [winner, winning] = intervals[*least];
    BestPoint found{std::string(goal.name), winner, {}};
    for (const auto& [point, interval] : intervals) {
      if (point != winner && interval.overlaps(winning)) found.as_good.push_back(point);
    }
    best.push_back(std::move(found));
  }
  return best;
}

}  // namespace

bool run_sweep(const SweepPlan& plan, ScenarioRunner& runner, RunStore& store,
               const SweepHost& host) {
  std::map<std::size_t, double> running;  // run → when it began
  const auto& now = store.owner().now;
  const double period_s = store.owner().lease_s / renewals_a_lease;
  double renewed = now();
  const auto renew_if_due = [&] {
    if (now() - renewed < period_s / 2) return;
    store.renew();
    renewed = now();
  };
  runner.while_waiting(period_s, renew_if_due);
  const auto stopped = [&] {
    runner.while_waiting(0, {});
    store.release();
    return false;
  };
  for (;;) {
    if (running.size() < runner.slots()) {
      for (const std::size_t run : store.take(runner.slots() - running.size())) {
        runner.start(run, plan.request(run));
        running[run] = now();
      }
    }
    renew_if_due();
    const RunStore::Counts counts = store.counts();
    if (host.progress) host.progress(counts);
    if (running.empty()) {
      if (counts.finished == counts.wanted) break;
      // Others are at the rest; they finish it or their leases end.
      if (!host.pause(poll_s)) return stopped();
      continue;
    }
    const auto over = runner.wait();
    if (!over) return stopped();
    store.finish(over->ticket, over->outcome, now() - running.at(over->ticket));
    running.erase(over->ticket);
  }
  runner.while_waiting(0, {});
  return true;
}

void SweepResult::each_run(std::size_t point,
                           const std::function<void(const RunFigures&)>& use) const {
  const auto before = [&](const SweptRun& run, std::size_t other) {
    return plan.point_of(run.run) < other;
  };
  for (auto run = std::lower_bound(runs.begin(), runs.end(), point, before);
       run != runs.end() && plan.point_of(run->run) == point; ++run) {
    if (run->figures) use(*run->figures);
  }
}

std::optional<FigureInterval> SweepResult::price_interval(std::size_t point,
                                                          std::string_view name) const {
  FigureInterval mean;
  int count = 0;
  each_run(point, [&](const RunFigures& figures) {
    const auto interval = interval_of(figures, name);
    if (!interval) return;
    mean.low += interval->low;
    mean.high += interval->high;
    ++count;
  });
  if (count == 0) return std::nullopt;
  return FigureInterval{mean.low / count, mean.high / count};
}

FigureInterval SweepResult::interval_90(std::size_t point, const FigureColumn& column) const {
  Samples samples;
  each_run(point, [&](const RunFigures& figures) { samples.push_back(column.value(figures)); });
  const SeedInterval seeds = seed_interval(samples, interval_confidence);
  const auto prices = price_interval(point, column.name);
  FORETOKEN_CHECK(prices.has_value(), "no interval of {}", column.name);
  const double chance = seeds.half_width.value_or(0.0);
  return {std::max(0.0, seeds.mean - std::hypot(chance, seeds.mean - prices->low)),
          seeds.mean + std::hypot(chance, prices->high - seeds.mean)};
}

std::optional<SeedInterval> SweepResult::interval(std::size_t point,
                                                  double (*figure)(const RunFigures&)) const {
  Samples samples;
  each_run(point, [&](const RunFigures& figures) { samples.push_back(figure(figures)); });
  if (samples.empty()) return std::nullopt;
  return seed_interval(samples);
}

SweepResult sweep_result(const SweepPlan& plan, RunStore& store) {
  SweepResult result;
  result.plan = plan;
  store.each_finished([&](std::size_t run, const RunOutcome& outcome) {
    SweptRun row{run, outcome.status, outcome.message, std::nullopt};
    if (outcome.status == RunStatus::ran) row.figures = figures_of(outcome.report);
    result.runs.push_back(std::move(row));
  });
  result.best = best_points(result);
  return result;
}

}  // namespace foretoken
