#include "sim/run/fleet_control.hpp"

#include <algorithm>

namespace foretoken {
namespace {

/// GPUs of one stage after the other, all of a replica.
std::vector<GpuId> gpus_of(const ReplicaPlacement& placement) {
  std::vector<GpuId> gpus;
  for (const std::vector<GpuId>& stage : placement) {
    gpus.insert(gpus.end(), stage.begin(), stage.end());
  }
  return gpus;
}

ScalingPolicy scaling_policy(const Scenario& scenario) {
  const AutoscalerSettings& settings = *scenario.autoscaler;
  ScalingPolicy policy;
  policy.min = settings.min;
  policy.max = settings.max;
  policy.metric = *parse_enum<ScalingMetric>(enum_name(settings.metric));
  policy.target = settings.target;
  policy.interval = settings.interval;
  policy.cooldown_up = settings.cooldown_up;
  policy.cooldown_down = settings.cooldown_down;
  policy.sequences_max = std::int64_t{scenario.engine.sequences_max} *
                         scenario.deployment.layout.data_parallel_attention;
  return policy;
}

}  // namespace

FleetSettings fleet_settings(const Scenario& scenario, const MemoryPlan& memory) {
  return {.startup = startup_time(scenario, memory),
          .status_interval = scenario.front_end.status_interval,
          .outstanding_max = scenario.front_end.outstanding_max,
          .is_scaled = scenario.autoscaler.has_value()};
}

ReplicaState first_state(const Scenario& scenario, std::size_t index) {
  if (index >= static_cast<std::size_t>(scenario.deployment.replicas)) return ReplicaState::stopped;
  return scenario.startup.is_cold ? ReplicaState::starting : ReplicaState::serving;
}

Seconds startup_time(const Scenario& scenario, const MemoryPlan& memory) {
  const StartupSettings& startup = scenario.startup;
  if (!startup.weights_bandwidth) return startup.time;
  const int gpus = std::min(scenario.deployment.layout.ranks(), scenario.cluster.node.gpus);
  return startup.time + memory.weights * gpus / *startup.weights_bandwidth;
}

std::vector<std::size_t> replicas_hit(const Failure& failure, int gpus_per_node,
                                      const std::vector<ReplicaPlacement>& placements) {
  if (failure.part == FailingPart::replica) return {static_cast<std::size_t>(failure.index)};
  const auto is_hit = [&](GpuId gpu) {
    const int index = static_cast<int>(gpu.value);
    return failure.index == (failure.part == FailingPart::node ? index / gpus_per_node : index);
  };
  std::vector<std::size_t> hit;
  for (std::size_t replica = 0; replica < placements.size(); ++replica) {
    if (std::ranges::any_of(gpus_of(placements[replica]), is_hit)) hit.push_back(replica);
  }
  return hit;
}

FleetControl::FleetControl(const Scenario& scenario, Platform& platform, Fleet& fleet,
                           Timeline& timeline, const std::vector<ReplicaPlacement>& placements) {
  if (!has_fleet_changes(scenario)) return;
  usage_.emplace();
  usage_->curve = &timeline.load();
  fleet.count_usage(*usage_);
  std::vector<PlannedFailure> planned;
  for (const Failure& failure : scenario.failures) {
    planned.push_back({failure.at, replicas_hit(failure, scenario.cluster.node.gpus, placements),
                       failure.recovers_after});
  }
  if (!planned.empty()) failures_.emplace(platform, fleet, std::move(planned));
  if (scenario.autoscaler) autoscaler_.emplace(scaling_policy(scenario), platform, fleet);
}

void FleetControl::arm() {
  if (failures_) failures_->arm();
  if (autoscaler_) autoscaler_->arm();
}

}  // namespace foretoken
