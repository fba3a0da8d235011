// What a search has found out about the candidates of a plan: each one's fate with its reason, the
// front of those that no other beats, and the cheapest.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/planner/outcome.hpp"
#include "sim/planner/plan/pareto.hpp"
#include "sim/planner/plan/plan_candidate.hpp"

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

}  // namespace foretoken
