#include "sim/planner/plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/planner/plan_metrics.hpp"

namespace foretoken {
namespace {

/// The front, and of the others the cheapest.
std::vector<std::size_t> worth_a_look(const PlanResult& result) {
  std::vector<std::size_t> chosen = result.front;
  if (chosen.size() > close_looks_max) chosen.resize(close_looks_max);
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    if (result.candidates[i].fate != CandidateFate::holds) continue;
    if (std::ranges::find(result.front, i) == result.front.end()) others.push_back(i);
  }
  std::ranges::stable_sort(others, {}, [&](std::size_t i) {
    const Objectives& objectives = result.candidates[i].objectives;
    return std::pair(objectives.dollars_per_hour, objectives.latency_ms);
  });
  if (others.size() > runners_up_max) others.resize(runners_up_max);
  chosen.insert(chosen.end(), others.begin(), others.end());
  return chosen;
}

/// Units at which counting up comes to an end: where it holds, or at its limit; of a candidate that
/// was given up not before its bounds, and the fleets that failed, allow.
std::size_t counted_units(const PlanCandidate& candidate, const CandidateResult& result) {
  switch (result.fate) {
    case CandidateFate::impossible:
      return candidate.impossible.empty() ? 1 : 0;
    case CandidateFate::beaten:
      return static_cast<std::size_t>(
          std::lround(result.objectives.dollars_per_hour / candidate.unit_dollars_per_hour));
    case CandidateFate::too_slow:
    case CandidateFate::fails:
      return static_cast<std::size_t>(candidate.units_max);
    case CandidateFate::holds:
      return static_cast<std::size_t>(result.units);
  }
  FORETOKEN_CHECK(false, "a candidate of no fate");
}

void look_closely(Plan& plan, const PlanRequests& requests, PlanRuns& runs) {
  std::vector<FoundDeployment> found;
  for (const std::size_t i : worth_a_look(plan.result)) {
    const CandidateResult& result = plan.result.candidates[i];
    found.push_back({i, result.units, result.metrics, result.runs.front()});
  }
  const ConfidenceSettings settings = {.confidence = plan.settings.confidence,
                                       .target = plan.space.slo.percentile / 100,
                                       .replications = plan.settings.replications,
                                       .tolerance = plan.settings.tolerance};
  plan.confidences = confidence_of(found, plan.space.candidates, requests, settings, runs);
  const std::size_t cheapest = *plan.result.cheapest;
  const CostRange range = plan.cost_range(cheapest);
  for (const DeploymentConfidence& other : plan.confidences) {
    if (other.candidate == cheapest) continue;
    const bool same = plan.space.candidates[other.candidate].hardware ==
                      plan.space.candidates[cheapest].hardware;
    if (cannot_be_told_apart(range, plan.cost_range(other.candidate), same))
      plan.as_good_as_cheapest.push_back(other.candidate);
  }
}

}  // namespace

const DeploymentConfidence* Plan::confidence(std::size_t candidate) const {
  const auto found =
      std::ranges::find(confidences, candidate, &DeploymentConfidence::candidate);
  return found == confidences.end() ? nullptr : &*found;
}

CostRange Plan::cost_range(std::size_t candidate) const {
  const PlanCandidate& choice = space.candidates[candidate];
  CostRange range;
  range.faster = range.predicted = choice.dollars_per_hour(result.candidates[candidate].units);
  const DeploymentConfidence* sure = confidence(candidate);
  if (sure == nullptr) return range;
  if (sure->units_faster) range.faster = choice.dollars_per_hour(*sure->units_faster);
  if (sure->units_slower) range.slower = choice.dollars_per_hour(*sure->units_slower);
  return range;
}

Plan make_plan(const PlanSettings& settings, const LoadScenario& load, ScenarioRunner& runner,
               const PlanOptions& options) {
  Plan plan;
  plan.settings = settings;
  plan.space = plan_space(settings, load, PlanSizing::fleet);
  const PlanRequests requests = plan.space.requests();
  PlanRuns runs(
      runner, [&](const PlanProbe& probe) { return requests.request(probe); }, options.progress,
      options.store);
  const TrafficSample& traffic = plan.space.traffic;
  const Replications fleet = requests.of_fleet(settings.replications);
  const PlanSearchSettings search = {
      .fleet = {.target = plan.space.slo.percentile / 100,
                .unit = {1, 1},  // it only says where to look
                .fleet = fleet},
      .output_tokens_per_s = traffic.rate.value() * traffic.output_tokens_mean(),
      .latency_metric = *find_metric(settings.latency + "_ms"),
      .wants_front = settings.wants_front,
      .is_exhaustive = options.is_exhaustive,
      .width = static_cast<std::size_t>(settings.candidates_at_once)};
  plan.result = search_plan(plan.space.candidates, search, runs);
  plan.runs = runs.made();
  const auto seeds = static_cast<std::size_t>(fleet.least);
  for (std::size_t i = 0; i < plan.space.candidates.size(); ++i) {
    const PlanCandidate& candidate = plan.space.candidates[i];
    plan.counted_runs += seeds * counted_units(candidate, plan.result.candidates[i]);
    if (candidate.impossible.empty())
      plan.sweep_runs += seeds * static_cast<std::size_t>(candidate.units_max);
  }
  if (options.looks_closely && plan.result.cheapest && plan.result.is_complete) {
    try {
      look_closely(plan, requests, runs);
    } catch (const PlanStopped&) {
      plan.result.is_complete = false;
    }
  }
  plan.close_runs = runs.made() - plan.runs;
  // The outcomes go with `runs`.
  for (CandidateResult& result : plan.result.candidates) result.runs.clear();
  return plan;
}

}  // namespace foretoken
