#include "sim/planner/plan/plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/planner/choice_text.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

/// The front, and of the others the cheapest.
std::vector<std::size_t> worth_a_look(const PlanResult& result,
                                      const std::vector<std::size_t>& holding) {
  std::vector<std::size_t> chosen = result.front;
  if (chosen.size() > close_looks_max) chosen.resize(close_looks_max);
  std::vector<std::size_t> others;
  for (const std::size_t i : holding) {
    if (std::ranges::find(result.front, i) == result.front.end()) others.push_back(i);
  }
  if (others.size() > runners_up_max) others.resize(runners_up_max);
  chosen.insert(chosen.end(), others.begin(), others.end());
  return chosen;
}

/// Runs that counting up takes at least: one of a fleet that misses, all seeds of the one that
/// holds; of a candidate that was given up not before its bounds, and the fleets that failed,
/// allow.
std::size_t counted_runs(const PlanCandidate& candidate, const CandidateResult& result,
                         std::size_t seeds) {
  switch (result.fate) {
    case CandidateFate::impossible:
      return candidate.impossible.empty() ? 1 : 0;
    case CandidateFate::beaten:
    case CandidateFate::holds:
      return static_cast<std::size_t>(result.units - 1) + seeds;
    case CandidateFate::too_slow:
    case CandidateFate::fails:
    case CandidateFate::undecided:
      return static_cast<std::size_t>(candidate.units_max);
  }
  FORETOKEN_CHECK(false, "a candidate of no fate");
}

/// Of sampled traffic: the cheapest has to hold all of it. One that does not takes more units.
void check_whole(Plan& plan, const PlanSearchSettings& settings, PlanRuns& runs) {
  while (plan.result.cheapest) {
    const std::size_t i = *plan.result.cheapest;
    CandidateResult& result = plan.result.candidates[i];
    const RunOutcome& whole = *runs.run({{.candidate = i,
                                          .kind = PlanProbe::Kind::whole,
                                          .units = result.units,
                                          .load = settings.fleet.load}})
                                   .front();
    if (whole.status == RunStatus::ran && attainment_of(whole.report) >= settings.fleet.target) {
      result.is_checked_whole = true;
      result.metrics = figure_values(whole.report);
      result.attainments.front() = attainment_of(whole.report);
      return;
    }
    const PlanCandidate& candidate = plan.space.candidates[i];
    if (whole.status != RunStatus::ran || result.units == candidate.units_max) {
      result.fate = CandidateFate::fails;
      result.reason = whole.status == RunStatus::ran
                          ? fmt::format(
                                "{} of them, the most allowed, meet the SLO over samples of the "
                                "traffic but not over all of it",
                                result.units)
                          : whole.message;
    } else {
      ++result.units;
      Objectives& objectives = result.objectives;
      objectives.dollars_per_hour = candidate.dollars_per_hour(result.units);
      objectives.spared_dollars_per_hour = candidate.dollars_per_hour(result.units + 1);
      objectives.tokens_per_s_gpu =
          settings.output_tokens_per_s / (result.units * candidate.unit_gpus);
    }
    plan.result.rank(plan.space.candidates, plan.settings.wants_front);
  }
}

void look_closely(Plan& plan, const PlanRequests& requests, PlanRuns& runs) {
  // Two seeds alone would leave everything open.
  constexpr int seeds_for_chance = 3;
  std::vector<FoundDeployment> found;
  for (const std::size_t i : worth_a_look(plan.result, plan.holding())) {
    const CandidateResult& result = plan.result.candidates[i];
    const int judged = static_cast<int>(result.runs.size());
    found.push_back({.candidate = i,
                     .units = result.units,
                     .metrics = result.metrics,
                     .run = result.runs.front(),
                     .replications = std::max(
                         judged, std::min(seeds_for_chance, plan.settings.replications.most)),
                     .load = plan.judged_load(),
                     .wants_load = i == *plan.result.cheapest});
  }
  const ConfidenceSettings settings = {.confidence = plan.settings.confidence,
                                       .target = plan.space.slo.percentile / 100,
                                       .tolerance = plan.settings.tolerance};
  plan.confidences = confidence_of(found, plan.space.candidates, requests, settings, runs);
  const std::size_t cheapest = *plan.result.cheapest;
  const CostRange range = plan.cost_range(cheapest);
  for (const DeploymentConfidence& other : plan.confidences) {
    if (other.candidate == cheapest) continue;
    const bool same =
        plan.space.candidates[other.candidate].hardware == plan.space.candidates[cheapest].hardware;
    if (cannot_be_told_apart(range, plan.cost_range(other.candidate), same))
      plan.as_good_as_cheapest.push_back(other.candidate);
  }
}

}  // namespace

const DeploymentConfidence* Plan::confidence(std::size_t candidate) const {
  const auto found = std::ranges::find(confidences, candidate, &DeploymentConfidence::candidate);
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

std::vector<std::size_t> Plan::holding() const {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    if (result.candidates[i].fate == CandidateFate::holds) chosen.push_back(i);
  }
  std::ranges::stable_sort(chosen, {}, [&](std::size_t i) {
    const Objectives& objectives = result.candidates[i].objectives;
    return std::pair(objectives.dollars_per_hour, objectives.latency_ms);
  });
  return chosen;
}

Changes Plan::judged_run(std::size_t candidate) const {
  return space.requests().whole_run(
      {.candidate = candidate, .units = result.candidates[candidate].units, .load = judged_load()});
}

namespace {

/// Says how far the plan is whenever a run ends or a choice is decided.
class StatusLine {
 public:
  StatusLine(const Plan& plan, const std::function<void(const PlanStatus&)>& progress)
      : plan_(plan), progress_(progress) {}

  void count(std::size_t runs) {
    status_.runs = runs;
    tell();
  }
  void take(const PlanResult& so_far) {
    status_.choices = so_far.candidates.size();
    status_.open = so_far.undecided();
    if (so_far.cheapest) {
      const std::size_t i = *so_far.cheapest;
      const CandidateResult& best = so_far.candidates[i];
      const std::string choice = choice_text(plan_.space.axes, plan_.space.candidates[i].values);
      status_.answer =
          fmt::format("{}{}{}", choice, choice.empty() ? "" : ", ", counted(best.units, "replica"));
      status_.dollars_per_hour = best.objectives.dollars_per_hour;
    }
    tell();
  }
  void enter(PlanStatus::Phase phase) { status_.phase = phase; }

 private:
  void tell() const {
    if (progress_) progress_(status_);
  }
  const Plan& plan_;
  const std::function<void(const PlanStatus&)>& progress_;
  PlanStatus status_;
};

}  // namespace

Plan make_plan(const PlanSettings& settings, const LoadScenario& load, ScenarioRunner& runner,
               const PlanOptions& options) {
  Plan plan;
  plan.settings = settings;
  plan.space = plan_space(settings, load, PlanSizing::fleet);
  const PlanRequests requests = plan.space.requests();
  plan.is_sampled = requests.is_sampled();
  StatusLine status(plan, options.progress);
  PlanRuns runs(
      runner, [&](const PlanProbe& probe) { return requests.requests(probe); },
      [&](std::size_t made) { status.count(made); }, options.store);
  const TrafficSample& traffic = plan.space.traffic;
  const Replications fleet = requests.of_fleet(settings.replications);
  const PlanSearchSettings search = {
      .fleet = {.target = plan.space.slo.percentile / 100,
                .unit = {1, 1},  // it only says where to look
                .fleet = fleet,
                .load = plan.judged_load()},
      .output_tokens_per_s =
          plan.judged_load() * traffic.rate.value() * traffic.output_tokens_mean(),
      .latency_metric = figure_index(settings.latency + "_ms"),
      .wants_front = settings.wants_front,
      .is_exhaustive = options.is_exhaustive,
      .looks_allow = requests.looks_allow(),
      .width = static_cast<std::size_t>(settings.candidates_at_once),
      .progress = [&](const PlanResult& so_far) { status.take(so_far); }};
  plan.result = search_plan(plan.space.candidates, search, runs);
  plan.runs = runs.made();
  const auto seeds = static_cast<std::size_t>(fleet.least);
  for (std::size_t i = 0; i < plan.space.candidates.size(); ++i) {
    const PlanCandidate& candidate = plan.space.candidates[i];
    plan.counted_runs += counted_runs(candidate, plan.result.candidates[i], seeds);
    if (candidate.impossible.empty())
      plan.sweep_runs += seeds * static_cast<std::size_t>(candidate.units_max);
  }
  try {
    if (plan.is_sampled && plan.result.is_complete) {
      status.enter(PlanStatus::Phase::whole);
      check_whole(plan, search, runs);
    }
    if (options.looks_closely && plan.result.cheapest && plan.result.is_complete) {
      status.enter(PlanStatus::Phase::closely);
      look_closely(plan, requests, runs);
    }
  } catch (const PlanStopped&) {
    plan.result.is_complete = false;
  }
  plan.close_runs = runs.made() - plan.runs;
  // The outcomes go with `runs`.
  for (CandidateResult& result : plan.result.candidates) result.runs.clear();
  return plan;
}

}  // namespace foretoken
