// The search of one candidate: how many units does the load take? First on one unit under its share
// of the load, which is quick and says where to look; then with whole fleets, which decide. Where a
// neighbour has said where to look, or few units are enough anyway, with fleets at once. Each
// question is answered by a SloTrial.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/planner/plan/count_search.hpp"
#include "sim/planner/plan/plan_candidate.hpp"
#include "sim/planner/plan/slo_trial.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

struct FleetSearchSettings {
  double target = 0.99;      // attainment
  Replications unit, fleet;  // of one unit under its share; of the whole
  double load = 1;           // times the scenario's: what has to hold
};

class FleetSearch {
 public:
  FleetSearch(std::size_t candidate, int least, int most, int guess,
              const FleetSearchSettings& settings);
  /// The same with a guess that is good enough to ask fleets at once: a near neighbour's.
  static FleetSearch guided(std::size_t candidate, int least, int most, int guess,
                            const FleetSearchSettings& settings);
  /// Fleets from the least on, where few seem to be enough: counted up, for a start.
  static FleetSearch upward(std::size_t candidate, int least, int most,
                            const FleetSearchSettings& settings);
  /// Every fleet from one unit on, up to the first that holds: what a sweep would do.
  static FleetSearch exhaustive(std::size_t candidate, int most,
                                const FleetSearchSettings& settings);

  /// The runs it needs now, all of one question; empty: it is over.
  [[nodiscard]] std::vector<PlanProbe> wanted() const;
  /// Their outcomes, in the same order.
  void take(const std::vector<const RunOutcome*>& outcomes);

  [[nodiscard]] bool is_over() const { return wanted().empty(); }
  /// Whether it asks about a unit under its share still, and not about a fleet.
  [[nodiscard]] bool asks_units() const { return !estimate_; }
  /// The units that hold; nullopt: no number does, or the candidate cannot be.
  [[nodiscard]] std::optional<int> units() const { return fleet_.found(); }
  /// Fleets of so many units do not hold.
  [[nodiscard]] int fails() const { return fleet_.fails(); }
  /// A run said that the candidate cannot be, or did not end.
  [[nodiscard]] const std::string& impossible() const { return impossible_; }
  /// The units that the first half, or a neighbour, says it takes; nullopt: not yet known.
  [[nodiscard]] std::optional<int> estimate() const { return estimate_; }
  /// Fleets larger than `units` are of no interest: if one unit seems to need more, a fleet of so
  /// many is asked at once.
  void prefer_at_most(int units);

 private:
  void begin_fleets(int estimate);
  void settle(bool holds);

  std::size_t candidate_;
  FleetSearchSettings settings_;
  int most_;
  CountSearch unit_, fleet_;
  std::optional<int> estimate_;
  SloTrial trial_;
  std::string impossible_;
};

}  // namespace foretoken
