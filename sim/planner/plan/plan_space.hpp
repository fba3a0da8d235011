// All candidates of a plan: [plan]'s lists multiplied out, hardware sized to the replicas, bounds
// worked out from the prices of steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/planner/plan/plan_requests.hpp"
#include "sim/planner/plan/plan_settings.hpp"

namespace foretoken {

/// The scenario with keys changed ("table.key=value"). Throws ConfigError.
using LoadScenario = std::function<Scenario(const Changes& changes)>;

/// What an hour of a GPU is taken to cost.
struct PricedGpu {
  std::string gpu;
  double dollars_per_hour = 0;
  bool is_given = false;  // by [plan.prices]; else by the GPU's file
};

struct PlanSpace {
  std::vector<LayoutChoice> axes;  // hardware first if there is a choice; then as in [plan]
  std::vector<PlanCandidate> candidates;
  std::vector<CandidateKeys> keys;  // of the candidates
  TrafficSample traffic;
  SloTargets slo;
  RunSettings run;
  std::string predictor;          // whose errors the figures have
  std::string model, engine;      // as far as they are no choice: "llama-3.1-70b in bf16"
  std::string fixed_layout;       // likewise: "PP 1"
  std::vector<PricedGpu> prices;  // of all GPUs that some choice has, by name

  [[nodiscard]] PlanRequests requests() const { return {keys, traffic, slo, run}; }
};

/// What a candidate's number of units means.
enum class PlanSizing {
  fleet,    // found by the search: candidates' bounds are of one unit
  cluster,  // as many as the cluster holds: one unit is all of them
};

/// Throws ConfigError for what is wrong whatever is chosen: no target that waiting breaks, a GPU
/// without a price, traffic without a rate, an autoscaler. What is wrong with one candidate is its
/// `impossible`.
PlanSpace plan_space(const PlanSettings& settings, const LoadScenario& load, PlanSizing sizing);

/// Throws ConfigError for a scenario whose question has no answer.
void check_plan_question(const Scenario& scenario);

/// Throws as plan_space() does, and prices nothing.
void check_plan_space(const PlanSettings& settings, const LoadScenario& load, PlanSizing sizing);

/// The choices with what the prices of their steps allow, at most `width` columns: what is known
/// before anything is run.
std::string plan_space_table(const PlanSpace& space, bool colour, int width);

}  // namespace foretoken
