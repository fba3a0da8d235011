// The runs of a plan: started a batch at a time, never twice, and handed back in the order they
// were asked for, so that the search does not depend on which finishes first. A probe may be
// several runs, one after the other, whose requests are counted together.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner/plan/plan_candidate.hpp"
#include "sim/planner/run_store.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// The user asked to stop while a plan was made, or its time is up.
class PlanStopped : public std::runtime_error {
 public:
  PlanStopped() : std::runtime_error("stopped") {}
};

class PlanRuns {
 public:
  using MakeRequests = std::function<std::vector<RunRequest>(const PlanProbe&)>;
  /// Told after each run: how many were made.
  using Progress = std::function<void(std::size_t runs)>;

  /// `store`, if any, is asked before a run is made and keeps what comes out.
  PlanRuns(ScenarioRunner& runner, MakeRequests make_requests, Progress progress,
           RunStore* store = nullptr)
      : runner_(&runner),
        make_requests_(std::move(make_requests)),
        progress_(std::move(progress)),
        store_(store) {}

  /// The outcomes in the order of the probes: they ran or are infeasible. Throws PlanStopped, and
  /// std::runtime_error for a run that broke off. The pointers stay valid.
  std::vector<const RunOutcome*> run(const std::vector<PlanProbe>& probes);

  /// The same of runs that are over, without making any; nullopt: one of them is missing.
  std::optional<std::vector<const RunOutcome*>> known(const std::vector<PlanProbe>& probes);

  /// Different runs that were asked for and are done, those from the store included: what is made
  /// of them must not tell whether they were made before.
  [[nodiscard]] std::size_t made() const { return outcomes_.size(); }

 private:
  /// A probe on its way: its runs as far as they are known.
  struct Asked {
    std::vector<RunRequest> requests;
    std::vector<const RunOutcome*> outcomes;
    bool is_running = false;
    [[nodiscard]] bool is_over() const;
  };
  /// Takes what is known already of what comes next.
  void take_known(Asked& asked);
  /// Of a probe that is over: of its runs together.
  const RunOutcome* outcome_of(const Asked& asked);
  const RunOutcome& keep(const RunRequest& request, RunOutcome outcome);

  ScenarioRunner* runner_;
  MakeRequests make_requests_;
  Progress progress_;
  RunStore* store_;
  std::map<std::string, RunOutcome> outcomes_;  // by the request
  std::map<std::string, RunOutcome> merged_;    // of probes of several runs, by all requests
};

}  // namespace foretoken
