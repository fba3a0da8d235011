// The search over all candidates: which deployment is the cheapest that holds the SLO, and which
// ones does no other beat in cost, latency and throughput of a GPU at once?
// Candidates whose bounds say that they cannot hold, or that what is known beats them whatever they
// turn out to be, are not run. Of the others the most promising go first, some at a time, each
// starting from the answer of its nearest finished neighbour. In every round the order depends on
// finished rounds alone, so that the number of processors changes nothing. One that others beat in
// cost and throughput, and that latency alone could save, is first looked at under a part of the
// traffic.
// Takes it that a fleet with more units never holds less.
#pragma once

#include <functional>
#include <optional>

#include "sim/planner/plan/fleet_search.hpp"
#include "sim/planner/plan/plan_result.hpp"
#include "sim/planner/plan/plan_runs.hpp"

namespace foretoken {

struct PlanSearchSettings {
  FleetSearchSettings fleet;
  double output_tokens_per_s = 0;  // of the load that fleets have to hold, margin included
  std::size_t latency_metric = 0;  // of figures()
  bool wants_front = true;         // false: the cheapest alone
  bool is_exhaustive = false;      // every candidate, every count from 1 on: what the search saves
  /// Requests that may miss the SLO over all of the traffic, where there is so much of it that a
  /// part says enough of latency; nullopt: there is not.
  std::optional<double> looks_allow = std::nullopt;
  std::size_t width = 8;  // candidates at a time
  /// Told after each round.
  std::function<void(const PlanResult& so_far)> progress = {};
};

PlanResult search_plan(const std::vector<PlanCandidate>& candidates,
                       const PlanSearchSettings& settings, PlanRuns& runs);

}  // namespace foretoken
