#include "sim/planner/plan/plan_confidence.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "sim/planner/plan/plan_metrics.hpp"

namespace foretoken {
namespace {

/// A list of runs whose figures are wanted, nothing more.
class Collect final : public ProbeTask {
 public:
  explicit Collect(std::vector<PlanProbe> probes) : probes_(std::move(probes)) {}
  [[nodiscard]] std::vector<PlanProbe> wanted() const override {
    return is_done_ ? std::vector<PlanProbe>{} : probes_;
  }
  void take(const std::vector<const RunOutcome*>& outcomes) override {
    is_done_ = true;
    for (const RunOutcome* outcome : outcomes) {
      if (outcome->status == RunStatus::ran) metrics.push_back(figure_values(outcome->report));
    }
  }
  std::vector<std::vector<double>> metrics;

 private:
  std::vector<PlanProbe> probes_;
  bool is_done_ = false;
};

/// All questions about one deployment.
struct Questions {
  Questions(const FoundDeployment& found, const PlanCandidate& candidate,
            const PlanRequests& requests, const ConfidenceSettings& settings, double half_width)
      : fleet({.candidate = found.candidate, .units = found.units, .load = found.load}),
        spread(requests.spread(fleet, found.replications)),
        slow(std::vector{at(1 + half_width)}),
        fast(std::vector{at(1 / (1 + half_width))}),
        slower(at(1 + half_width), settings.target,
               CountSearch(found.units, candidate.units_max, found.units)),
        faster(at(1 / (1 + half_width)), settings.target,
               CountSearch(1, found.units, std::max(1, found.units - 1))),
        load(fleet, settings.target, {1, 1}, found.load, {.tolerance = settings.tolerance}) {}

  [[nodiscard]] PlanProbe at(double slowdown) const {
    PlanProbe probe = fleet;
    probe.slowdown = slowdown;
    return probe;
  }

  PlanProbe fleet;
  Collect spread, slow, fast;
  UnitsAtSlowdown slower, faster;
  HighestLoad load;
};

std::vector<Interval> intervals(const std::vector<double>& values, const Questions& asked,
                                double half_width, double confidence) {
  std::vector<Interval> all;
  for (std::size_t m = 0; m < values.size(); ++m) {
    const Figure& figure = figures()[m];
    double chance = 0;
    if (asked.spread.metrics.size() > 1) {
      std::vector<double> column;
      for (const auto& run : asked.spread.metrics) column.push_back(run[m]);
      chance = mean_and_error(column).error *
               t_quantile(0.5 + confidence / 2, static_cast<int>(column.size()));
    }
    double below = 0, above = 0;
    const auto reach = [&](const Collect& runs, double slowdown) {
      if (runs.metrics.empty()) return;
      const double value = figure.moved(runs.metrics.front()[m], slowdown);
      below = std::max(below, values[m] - value);
      above = std::max(above, value - values[m]);
    };
    reach(asked.slow, 1 + half_width);
    reach(asked.fast, 1 / (1 + half_width));
    Interval interval{std::max(0.0, values[m] - std::hypot(chance, below)),
                      values[m] + std::hypot(chance, above)};
    if (figure.kind == FigureKind::share) interval.high = std::min(1.0, interval.high);
    all.push_back(interval);
  }
  return all;
}

}  // namespace

std::vector<DeploymentConfidence> confidence_of(const std::vector<FoundDeployment>& deployments,
                                                const std::vector<PlanCandidate>& candidates,
                                                const PlanRequests& requests,
                                                const ConfidenceSettings& settings,
                                                PlanRuns& runs) {
  std::vector<DeploymentConfidence> answers;
  std::vector<std::unique_ptr<Questions>> questions;
  std::vector<ProbeTask*> tasks;
  for (const FoundDeployment& found : deployments) {
    const PlanCandidate& candidate = candidates[found.candidate];
    DeploymentConfidence& answer = answers.emplace_back();
    answer.candidate = found.candidate;
    answer.error = found.run->report.step_error;
    answer.half_width = answer.error.half_width(settings.confidence);
    auto& asked = *questions.emplace_back(
        std::make_unique<Questions>(found, candidate, requests, settings, answer.half_width));
    for (ProbeTask* task : std::initializer_list<ProbeTask*>{
             &asked.spread, &asked.slow, &asked.fast, &asked.slower, &asked.faster}) {
      tasks.push_back(task);
    }
    if (found.wants_load) tasks.push_back(&asked.load);
  }
  run_tasks(tasks, runs);
  for (std::size_t i = 0; i < deployments.size(); ++i) {
    const Questions& asked = *questions[i];
    answers[i].metrics =
        intervals(deployments[i].metrics, asked, answers[i].half_width, settings.confidence);
    answers[i].units_faster = asked.faster.units();
    // A search that ends below what is known to hold found nothing smaller.
    if (!answers[i].units_faster) answers[i].units_faster = deployments[i].units;
    answers[i].units_slower = asked.slower.units();
    answers[i].load_holds = asked.load.search().holds();
    answers[i].load_fails = asked.load.search().fails();
    answers[i].is_sustained = asked.load.is_sustained();
  }
  return answers;
}

bool cannot_be_told_apart(const CostRange& one, const CostRange& other, bool same_hardware) {
  if (!same_hardware) {
    const bool below = one.slower < other.faster, above = other.slower < one.faster;
    return !below && !above;
  }
  const auto all = [](const CostRange& a, const CostRange& b) {
    return a.faster < b.faster && a.predicted < b.predicted && a.slower < b.slower;
  };
  return !all(one, other) && !all(other, one);
}

}  // namespace foretoken
