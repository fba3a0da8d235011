#include "sim/run/fleet_control.hpp"

#include <algorithm>
#include <map>

namespace foretoken {
namespace {

bool stands_on(const ReplicaPlacement& placement, const Failure& failure,
               const ClusterSpec& cluster) {
  const auto is_hit = [&](GpuId gpu) {
    return failure.index ==
           (failure.part == FailingPart::node ? cluster.node_of(gpu) : static_cast<int>(gpu.value));
  };
  return std::ranges::any_of(placement.experts, is_hit) ||
         std::ranges::any_of(placement.stages, [&](const std::vector<GpuId>& stage) {
           return std::ranges::any_of(stage, is_hit);
         });
}

/// Every replica with a part in what fails, pool by pool.
std::vector<PlannedFailure::Hit> hits(const Failure& failure, const ClusterSpec& cluster,
                                      const std::vector<ControlledPool>& pools) {
  std::vector<PlannedFailure::Hit> found;
  for (const ControlledPool& pool : pools) {
    for (std::size_t i = 0; i < pool.part.count; ++i) {
      const bool is_hit =
          failure.part == FailingPart::replica
              ? failure.pool == pool.spec->name && static_cast<std::size_t>(failure.index) == i
              : stands_on((*pool.placements)[i], failure, cluster);
      if (is_hit) found.push_back({pool.fleet, pool.part.first + i});
    }
  }
  return found;
}

/// A pool as policy wva compares it with the others of its model.
Variant variant_of(const PoolSpec& pool) {
  const Scenario& scenario = pool.scenario;
  const int gpus = scenario.deployment.layout.ranks();
  // Told or a price, unless it is the only one: check_variants().
  return {pool.name,
          variant_cost(scenario).value_or(1.0),
          scenario.autoscaler->min,
          scenario.autoscaler->max,
          fmt::format("{}|{}", scenario.cluster.gpu.name, gpus),
          scenario.engine.batch_tokens_max,
          scenario.engine.sequences_max};
}

/// `scaled` are pools, by autoscaler.
std::vector<std::unique_ptr<VariantController>> controllers_of(
    const std::vector<ControlledPool>& pools, const std::vector<std::size_t>& scaled,
    const std::vector<std::unique_ptr<Autoscaler>>& autoscalers, Platform& platform) {
  std::map<int, std::vector<VariantController::Member>> members;  // by model
  std::map<int, const ControlledPool*> firsts;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const ControlledPool& pool = pools[scaled[i]];
    const Scenario& scenario = pool.spec->scenario;
    if (scenario.autoscaler->policy != ScalingPolicyKind::wva) continue;
    firsts.try_emplace(pool.spec->model, &pool);
    members[pool.spec->model].push_back(
        {variant_of(*pool.spec), autoscalers[i].get(), scenario.engine.block_tokens});
  }
  std::vector<std::unique_ptr<VariantController>> controllers;
  for (const auto& [model, first] : firsts) {
    controllers.push_back(std::make_unique<VariantController>(
        first->spec->scenario.autoscaler->wva, platform, *first->fleet, members[model]));
  }
  return controllers;
}

}  // namespace

MemberSettings member_settings(const Scenario& pool, const MemoryPlan& memory) {
  const StartupSettings& startup = pool.startup;
  // Experts' GPUs read theirs beside attention's.
  const int gpus = std::min(pool.deployment.layout.attention_ranks(), pool.cluster.node.gpus);
  const Bytes weights = memory.weights * gpus;  // of a node
  const Seconds read = startup.weights_bandwidth ? weights / *startup.weights_bandwidth : Seconds();
  MemberSettings settings{.startup = startup.time + read, .is_scaled = pool.autoscaler.has_value()};
  settings.role_switch = startup.role_switch;
  if (startup.peer_bandwidth)
    settings.startup_from_peer = startup.time + weights / *startup.peer_bandwidth;
  if (startup.sleep == SleepMode::weights_discarded) settings.wake = startup.wake_time + read;
  if (startup.sleep == SleepMode::weights_on_host) {
    const NodeSpec& node = pool.cluster.node;
    settings.wake =
        startup.wake_time + memory.weights / (node.host_link_bandwidth * node.host_link_efficiency);
  }
  return settings;
}

ReplicaState first_state(const Scenario& pool, std::size_t index) {
  if (index >= static_cast<std::size_t>(pool.deployment.replicas)) return ReplicaState::stopped;
  return pool.startup.is_cold ? ReplicaState::starting : ReplicaState::serving;
}

FleetControl::FleetControl(const Scenario& scenario, Platform& platform, Timeline& timeline,
                           const std::vector<ControlledPool>& pools) {
  if (!has_fleet_changes(scenario)) return;
  usages_.resize(pools.size());
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    usages_[pool].curve = &timeline.load();
    pools[pool].fleet->count_usage(usages_[pool], pools[pool].part);
  }
  std::vector<PlannedFailure> planned;
  for (const Failure& failure : scenario.failures) {
    planned.push_back({failure.at, hits(failure, scenario.cluster, pools), failure.recovers_after});
  }
  if (!planned.empty()) failures_.emplace(platform, std::move(planned));
  std::vector<std::size_t> scaled;  // pools, by autoscaler
  for (const ControlledPool& pool : pools) {
    const Scenario& spec = pool.spec->scenario;
    if (!spec.autoscaler) continue;
    scaled.push_back(static_cast<std::size_t>(&pool - pools.data()));
    const std::int64_t sequences_max =
        std::int64_t{spec.engine.sequences_max} * spec.deployment.layout.data_parallel_attention;
    autoscalers_.push_back(std::make_unique<Autoscaler>(*spec.autoscaler, sequences_max, platform,
                                                        *pool.fleet, pool.part, pool.spec->role));
  }
  controllers_ = controllers_of(pools, scaled, autoscalers_, platform);
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const PoolSpec &root = *pools[scaled[j]].spec, &pool = *pools[scaled[i]].spec;
      if (pool.scenario.deployment.shares_gpus_with != root.name) continue;
      const int gpus = pool.scenario.deployment.layout.ranks();
      const int root_gpus = root.scenario.deployment.layout.ranks();
      autoscalers_[i]->share(*autoscalers_[j], gpus, root_gpus);
      autoscalers_[j]->share(*autoscalers_[i], root_gpus, gpus);
    }
  }
}

void FleetControl::arm() {
  if (failures_) failures_->arm();
  for (const auto& controller : controllers_) controller->arm();
  for (const auto& autoscaler : autoscalers_) autoscaler->arm();
}

}  // namespace foretoken
