// The search over all candidates: which deployment is the cheapest that holds the SLO, and which
// ones does no other beat in cost, latency and throughput of a GPU at once?
// Candidates whose bounds say that they cannot hold, or that what is known beats them whatever they
// turn out to be, are not run. Of the others the most promising go first, some at a time, each
// starting from the answer of its nearest finished neighbour. In every round the order depends on
// finished rounds alone, so that the number of processors changes nothing.
// Takes it that a fleet with more units never holds less.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/planner/plan/fleet_search.hpp"
#include "sim/planner/plan/pareto.hpp"
#include "sim/planner/plan/plan_runs.hpp"

namespace foretoken {

/// impossible: cannot be on this hardware. too_slow: no fleet can hold the SLO, by its bounds.
/// beaten: whatever it needs, others are better. fails: no fleet up to its limit holds. undecided:
/// the search was stopped before. holds: a fleet does.
enum class CandidateFate { impossible, too_slow, beaten, fails, undecided, holds };
template <>
struct EnumNames<CandidateFate> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"impossible", "too_slow", "beaten", "fails", "undecided", "holds"});
};

struct CandidateResult {
  CandidateFate fate = CandidateFate::undecided;
  std::string reason;                   // in words; empty if it holds
  int units = 0;                        // that hold; else, if it is known, that it takes at least
  std::optional<int> estimate;          // from one unit under its share
  Objectives objectives;                // if it holds; else the least and most that they could be
  std::vector<double> metrics;          // figures(), means over the replications
  std::vector<const RunOutcome*> runs;  // of the fleet that holds, one a replication
  std::vector<double> attainments;      // of these
  double attainment_low = 0;            // lower end of their interval
  bool is_checked_whole = false;        // of sampled traffic: the whole of it was run as well
  std::size_t probes = 0;               // runs that it took
};

struct PlanResult {
  std::vector<CandidateResult> candidates;  // in the order of the candidates
  std::vector<std::size_t> front;           // candidates, by rising cost
  std::optional<std::size_t> cheapest;
  /// Candidates that are beaten, and by which other, in the order it was found out.
  std::vector<std::pair<std::size_t, std::size_t>> beaten_by;
  bool is_complete = true;  // false: stopped by the user, or out of time
  /// The cheapest of those that still hold with one unit down, if there may be one more.
  std::optional<std::size_t> cheapest_spared;

  /// Choices that nothing has been found out about yet.
  [[nodiscard]] std::size_t undecided() const;
  /// Finds front and cheapest among those that hold. `with_front` false: the cheapest is all of it.
  void rank(const std::vector<PlanCandidate>& candidates, bool with_front);
};

struct PlanSearchSettings {
  FleetSearchSettings fleet;
  double output_tokens_per_s = 0;  // that the load asks for; fleets that hold it serve it
  std::size_t latency_metric = 0;  // of figures()
  bool wants_front = true;         // false: the cheapest alone
  bool is_exhaustive = false;      // every candidate, every count from 1 on: what the search saves
  std::size_t width = 8;           // candidates at a time
  /// Told after each round.
  std::function<void(const PlanResult& so_far)> progress = {};
};

PlanResult search_plan(const std::vector<PlanCandidate>& candidates,
                       const PlanSearchSettings& settings, PlanRuns& runs);

}  // namespace foretoken
