// The runs of a plan: started a batch at a time, never twice, and handed back in the order they
// were asked for, so that the search does not depend on which finishes first.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/planner/outcome_store.hpp"
#include "sim/planner/plan_candidate.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// The user asked to stop while a plan was made.
class PlanStopped : public std::runtime_error {
 public:
  PlanStopped() : std::runtime_error("stopped") {}
};

class PlanRuns {
 public:
  using MakeRequest = std::function<RunRequest(const PlanProbe&)>;
  /// Told after each run: how many were made.
  using Progress = std::function<void(std::size_t runs)>;

  /// `store`, if any, is asked before a run is made and keeps what comes out.
  PlanRuns(ScenarioRunner& runner, MakeRequest make_request, Progress progress,
           OutcomeStore* store = nullptr)
      : runner_(&runner),
        make_request_(std::move(make_request)),
        progress_(std::move(progress)),
        store_(store) {}

  /// The outcomes in the order of the probes: they ran or are infeasible. Throws PlanStopped, and
  /// std::runtime_error for a run that broke off. The pointers stay valid.
  std::vector<const RunOutcome*> run(const std::vector<PlanProbe>& probes);

  /// Different runs that were asked for and are done, those from the store included: what is made
  /// of them must not tell whether they were made before.
  [[nodiscard]] std::size_t made() const { return outcomes_.size(); }

 private:
  ScenarioRunner* runner_;
  MakeRequest make_request_;
  Progress progress_;
  OutcomeStore* store_;
  std::map<std::string, RunOutcome> outcomes_;  // by the request
};

}  // namespace foretoken
