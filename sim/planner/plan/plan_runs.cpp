#include "sim/planner/plan/plan_runs.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/planner/job_pool.hpp"
#include "sim/planner/plan/plan_metrics.hpp"

namespace foretoken {
namespace {

std::string name_of(const std::vector<RunRequest>& requests) {
  std::string name;
  for (const RunRequest& request : requests) name += run_name(request) + '\n';
  return name;
}

/// Requests of a run that did not meet the SLO.
double misses_of(const Report& report) { return (1 - attainment_of(report)) * arrived_in(report); }

}  // namespace

bool PlanRuns::Asked::is_over() const {
  if (outcomes.size() == requests.size()) return true;
  if (outcomes.empty()) return false;
  if (outcomes.back()->status != RunStatus::ran) return true;
  const auto misses_max = requests.front().misses_max;
  if (!misses_max) return false;
  double misses = 0;
  for (const RunOutcome* outcome : outcomes) misses += misses_of(outcome->report);
  constexpr double rounding = 1e-6;
  return misses > static_cast<double>(*misses_max) + rounding;
}

const RunOutcome& PlanRuns::keep(const RunRequest& request, RunOutcome outcome) {
  const RunOutcome& kept = outcomes_[name_of({request})] = std::move(outcome);
  if (progress_) progress_(made());
  return kept;
}

void PlanRuns::take_known(Asked& asked) {
  while (!asked.is_over()) {
    const RunRequest& request = asked.requests[asked.outcomes.size()];
    if (const auto known = outcomes_.find(name_of({request})); known != outcomes_.end()) {
      asked.outcomes.push_back(&known->second);
      continue;
    }
    auto stored = store_ != nullptr ? store_->find(request) : std::nullopt;
    if (!stored) return;
    asked.outcomes.push_back(&keep(request, std::move(*stored)));
  }
}

std::vector<const RunOutcome*> PlanRuns::run(const std::vector<PlanProbe>& probes) {
  std::vector<std::string> names;
  std::vector<Asked> all;
  std::map<std::string, std::size_t> places;
  for (const PlanProbe& probe : probes) {
    std::vector<RunRequest> requests = make_requests_(probe);
    names.push_back(name_of(requests));
    if (places.try_emplace(names.back(), all.size()).second)
      all.push_back({std::move(requests), {}, false});
  }
  const auto next = [&]() -> std::optional<std::pair<std::size_t, RunRequest>> {
    for (std::size_t i = 0; i < all.size(); ++i) {
      Asked& asked = all[i];
      if (asked.is_running) continue;
      take_known(asked);
      if (asked.is_over()) continue;
      asked.is_running = true;
      return std::pair(i, asked.requests[asked.outcomes.size()]);
    }
    return std::nullopt;
  };
  const auto done = [&](ScenarioRunner::Finished over) {
    Asked& asked = all[over.ticket];
    asked.is_running = false;
    const RunRequest& request = asked.requests[asked.outcomes.size()];
    if (over.outcome.status == RunStatus::failed) {
      // Neither holds nor cannot be: with its choice left out, the answer might be another.
      throw std::runtime_error(
          fmt::format("a run of the plan failed, so its result is unknown: {}\n"
                      "The run: {}",
                      over.outcome.message, fmt::join(texts_of(request.changes), " ")));
    }
    if (store_ != nullptr) store_->keep(request, over.outcome);
    asked.outcomes.push_back(&keep(request, std::move(over.outcome)));
  };
  if (!run_jobs(*runner_, next, done)) throw PlanStopped();
  std::vector<const RunOutcome*> outcomes;
  for (const std::string& name : names) outcomes.push_back(outcome_of(all[places.at(name)]));
  return outcomes;
}

std::optional<std::vector<const RunOutcome*>> PlanRuns::known(
    const std::vector<PlanProbe>& probes) {
  std::vector<const RunOutcome*> outcomes;
  for (const PlanProbe& probe : probes) {
    Asked asked{make_requests_(probe), {}, false};
    take_known(asked);
    if (!asked.is_over()) return std::nullopt;
    outcomes.push_back(outcome_of(asked));
  }
  return outcomes;
}

const RunOutcome* PlanRuns::outcome_of(const Asked& asked) {
  if (asked.requests.size() == 1) return asked.outcomes.front();
  auto [merged, is_new] = merged_.try_emplace(name_of(asked.requests));
  if (is_new) merged->second = merged_outcome(asked.outcomes);
  return &merged->second;
}

}  // namespace foretoken
