// Questions that take several runs, one after the other: what each needs next, and what it makes of
// the answers. Tasks that do not depend on each other are run side by side.
#pragma once

#include <string_view>
#include <vector>

#include "sim/planner/plan/count_search.hpp"
#include "sim/planner/plan/load_search.hpp"
#include "sim/planner/plan/plan_runs.hpp"
#include "sim/planner/plan/slo_trial.hpp"

namespace foretoken {

class ProbeTask {
 public:
  virtual ~ProbeTask() = default;
  /// Empty: it is over.
  [[nodiscard]] virtual std::vector<PlanProbe> wanted() const = 0;
  /// Outcomes of what was wanted, in its order.
  virtual void take(const std::vector<const RunOutcome*>& outcomes) = 0;
};

/// Runs all tasks to their end. Throws PlanStopped, once they have taken what was known by then.
void run_tasks(const std::vector<ProbeTask*>& tasks, PlanRuns& runs);

/// The highest load of a fleet. A run that fails counts as a load that does not hold.
class HighestLoad final : public ProbeTask {
 public:
  /// `fleet` says candidate, units and slowdown.
  HighestLoad(const PlanProbe& fleet, double target, Replications replications, double guess,
              const LoadSearch::Limits& limits)
      : fleet_(fleet),
        target_(target),
        replications_(replications),
        search_(guess, limits),
        trial_(target, replications) {}

  [[nodiscard]] std::vector<PlanProbe> wanted() const override;
  void take(const std::vector<const RunOutcome*>& outcomes) override;
  /// false: it was stopped, and a higher load may hold.
  [[nodiscard]] bool is_over() const { return wanted().empty(); }
  [[nodiscard]] const LoadSearch& search() const { return search_; }
  /// Of the fleet at the highest load that held.
  [[nodiscard]] const std::vector<const RunOutcome*>& best_runs() const { return best_runs_; }
  /// Most requests ended while others still came. If not, the load is a burst that was served in
  /// time, not a rate that can go on.
  [[nodiscard]] bool is_sustained() const;
  /// A run said that the fleet cannot be.
  [[nodiscard]] const std::string& impossible() const { return impossible_; }

 private:
  PlanProbe fleet_;
  double target_;
  Replications replications_;
  LoadSearch search_;
  SloTrial trial_;
  std::vector<const RunOutcome*> trial_runs_, best_runs_;
  std::string impossible_;
};

/// What readers are told of a load that is not sustained.
inline constexpr std::string_view burst_words =
    "served in time as a burst, not as a rate that goes on: most requests were still open when the "
    "last one arrived; ask with more requests";

/// The least number of units at some slowdown, judged by one replication each.
class UnitsAtSlowdown final : public ProbeTask {
 public:
  UnitsAtSlowdown(const PlanProbe& fleet, double target, const CountSearch& search)
      : fleet_(fleet), target_(target), search_(search) {}

  [[nodiscard]] std::vector<PlanProbe> wanted() const override;
  void take(const std::vector<const RunOutcome*>& outcomes) override;
  [[nodiscard]] std::optional<int> units() const { return search_.found(); }

 private:
  PlanProbe fleet_;
  double target_;
  CountSearch search_;
};

}  // namespace foretoken
