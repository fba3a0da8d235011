#include "sim/planner/plan/probe_task.hpp"

#include "sim/planner/plan/plan_metrics.hpp"

namespace foretoken {
namespace {

/// Tasks whose runs all ended before the stop need not wait for those of the others.
void take_known(const std::vector<ProbeTask*>& tasks, PlanRuns& runs) {
  for (ProbeTask* task : tasks) {
    const std::vector<PlanProbe> wanted = task->wanted();
    if (wanted.empty()) continue;
    if (const auto known = runs.known(wanted)) task->take(*known);
  }
}

}  // namespace

void run_tasks(const std::vector<ProbeTask*>& tasks, PlanRuns& runs) {
  for (;;) {
    std::vector<PlanProbe> probes;
    std::vector<std::size_t> counts;
    for (const ProbeTask* task : tasks) {
      const std::vector<PlanProbe> wanted = task->wanted();
      probes.insert(probes.end(), wanted.begin(), wanted.end());
      counts.push_back(wanted.size());
    }
    if (probes.empty()) return;
    std::vector<const RunOutcome*> outcomes;
    try {
      outcomes = runs.run(probes);
    } catch (const PlanStopped&) {
      take_known(tasks, runs);
      throw;
    }
    auto next = outcomes.begin();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto end = next + static_cast<std::ptrdiff_t>(counts[i]);
      if (counts[i] > 0) tasks[i]->take({next, end});
      next = end;
    }
  }
}

std::vector<PlanProbe> HighestLoad::wanted() const {
  if (!impossible_.empty()) return {};
  const auto load = search_.next();
  if (!load) return {};
  std::vector<PlanProbe> probes;
  for (int i = 0; i < trial_.wanted(); ++i) {
    probes.push_back(fleet_);
    probes.back().load = *load;
    probes.back().replication = trial_.count() + i;
  }
  return probes;
}

void HighestLoad::take(const std::vector<const RunOutcome*>& outcomes) {
  for (const RunOutcome* outcome : outcomes) {
    if (outcome->status != RunStatus::ran) {
      impossible_ = outcome->message;
      return;
    }
    trial_.add(attainment_of(outcome->report));
    trial_runs_.push_back(outcome);
  }
  const auto holds = trial_.verdict();
  if (!holds) return;
  search_.take(*search_.next(), *holds);
  if (*holds) best_runs_ = trial_runs_;
  trial_runs_.clear();
  trial_ = SloTrial(target_, replications_);
}

bool HighestLoad::is_sustained() const {
  return std::ranges::all_of(best_runs_,
                             [](const RunOutcome* run) { return run->report.steady.is_reached; });
}

std::vector<PlanProbe> UnitsAtSlowdown::wanted() const {
  const auto units = search_.next();
  if (!units) return {};
  PlanProbe probe = fleet_;
  probe.units = *units;
  return {probe};
}

void UnitsAtSlowdown::take(const std::vector<const RunOutcome*>& outcomes) {
  const RunOutcome& outcome = *outcomes.front();
  const bool holds = outcome.status == RunStatus::ran && attainment_of(outcome.report) >= target_;
  search_.take(*search_.next(), holds);
}

}  // namespace foretoken
