// A plan for several models on one fleet. Models have queues and GPUs of their own, so each is
// planned by itself, under its requests alone (run.only_model); of what the searches found, the
// cheapest deployments that agree on what is common to all (the GPU, the engine's keys) and find
// room beside each other are put together. They are then run under all of the traffic at once,
// where they share links: a model that misses there takes another unit.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/plan/plan.hpp"

namespace foretoken {

struct ModelPlan {
  std::string model;  // as requests ask for it
  Plan plan;
  double share = 1;  // of the requests
  /// Of the answer, once there is one.
  std::size_t candidate = 0;
  int units = 0;
  double attainment = 0;  // beside the other models

  [[nodiscard]] int gpus() const { return units * plan.space.candidates[candidate].unit_gpus; }
  [[nodiscard]] double dollars_per_hour() const {
    return plan.space.candidates[candidate].dollars_per_hour(units);
  }
};

struct ModelPlans {
  std::vector<ModelPlan> models;
  std::vector<std::string> overrides;  // keys that were set for all runs
  bool is_complete = true;
  std::string problem;   // why there is no answer; "" = there is one, unless it was stopped before
  Changes run;           // the keys of the answer's run under all of the traffic; empty: none
  std::size_t runs = 0;  // of all models together

  [[nodiscard]] bool is_found() const { return !run.empty(); }
  [[nodiscard]] int gpus() const;
  [[nodiscard]] double dollars_per_hour() const;
};

/// What a plan of that model alone may choose from: [plan] without the keys of other models' pools.
/// A model of one pool is counted in its replicas, one of several in sets of them as the scenario
/// has them. Throws ConfigError for ratios of pools.
PlanSettings settings_of_model(const PlanSettings& settings, const Scenario& scenario, int model);

/// Throws ConfigError as plan_space() does.
ModelPlans make_model_plans(const PlanSettings& settings, const LoadScenario& load,
                            ScenarioRunner& runner, const PlanOptions& options);

/// What a person reads: the answer, then each model's own plan.
std::string model_plans_table(const ModelPlans& plans, const std::string& scenario,
                              const PlanTableLayout& layout);
/// plan.csv: a line a model.
std::string model_plans_csv(const ModelPlans& plans);
/// plan.json's object; each model's plan as plan_value() has it.
Value model_plans_value(const ModelPlans& plans);

}  // namespace foretoken
