// How sure a plan's figures are. Two sources: chance (seeds, or the parts of a trace) and the
// predictor's own error. For the latter every step is taken to last longer or shorter by the half
// width of the step's error, and the deployment is simulated so: first order for the prices, exact
// for what queues make of them. A run in which everything takes s times as long equals one at s
// times the load whose times are multiplied by s, so that no price has to be touched.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "sim/planner/plan/plan_requests.hpp"
#include "sim/planner/plan/plan_runs.hpp"
#include "sim/planner/plan/probe_task.hpp"
#include "sim/report/step_error.hpp"

namespace foretoken {

struct Interval {
  double low = 0, high = 0;
};

/// A deployment that holds, as the search found it.
struct FoundDeployment {
  std::size_t candidate = 0;
  int units = 1;
  std::vector<double> metrics;      // figures()
  const RunOutcome* run = nullptr;  // one of its runs
  int replications = 1;             // runs that it took
  double load = 1;                  // of these, times the scenario's
  bool wants_load = true;           // its highest load too
};

struct DeploymentConfidence {
  std::size_t candidate = 0;
  StepError error;
  double half_width = 0;             // of a step's time, relative
  std::vector<Interval> metrics;     // figures(), both sources
  std::optional<int> units_faster;   // that would hold if steps were as short as they may be
  std::optional<int> units_slower;   // as long; nullopt: none up to the limit
  std::optional<double> load_holds;  // times the scenario's: the fleet holds so much …
  std::optional<double> load_fails;  // … and not so much
  bool is_sustained = true;          // `load_holds`, as HighestLoad says
};

struct ConfidenceSettings {
  double confidence = 0.9;
  double target = 0.99;
  double tolerance = 0.02;  // of the highest load
};

/// `candidates` are those of the plan.
std::vector<DeploymentConfidence> confidence_of(const std::vector<FoundDeployment>& deployments,
                                                const std::vector<PlanCandidate>& candidates,
                                                const PlanRequests& requests,
                                                const ConfidenceSettings& settings, PlanRuns& runs);

/// What a deployment costs an hour if steps are as short as they may be, as predicted, as long as
/// they may be.
struct CostRange {
  double faster = 0, predicted = 0, slower = std::numeric_limits<double>::infinity();
};

/// Whether nobody can say which of the two costs less. On equal hardware the predictor's error is
/// the same for both, so that the order has to hold in each case alone; else the ranges must lie
/// apart.
bool cannot_be_told_apart(const CostRange& one, const CostRange& other, bool same_hardware);

}  // namespace foretoken
