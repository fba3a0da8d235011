// Which choice of each model, so that all find room on one fleet at the least cost. Internal to the
// plan of several models.
#pragma once

#include <optional>
#include <vector>

#include "sim/planner/plan/model_plans.hpp"

namespace foretoken {

/// A candidate for each model that holds its SLO, all with the same values of what is no pool's own
/// (hardware, the engine's keys), within `gpus_max` and the cluster, at the least cost; among
/// equals with the fewest GPUs. nullopt: there are none.
std::optional<std::vector<std::size_t>> cheapest_mix(const std::vector<ModelPlan>& models,
                                                     int gpus_max, const LoadScenario& load);

/// The keys of all models' candidates and units as one deployment, on as few nodes as hold it.
CandidateKeys keys_together(const std::vector<ModelPlan>& models, const LoadScenario& load);

/// Whether a deployment fits its cluster.
bool find_room(const CandidateKeys& keys, const LoadScenario& load);

}  // namespace foretoken
