#include "sim/prices/placement.hpp"

#include <algorithm>
#include <map>

namespace foretoken {
namespace {

/// `experts` are the nodes of those that have GPUs of their own; it may be `cursor`.
std::vector<ReplicaPlacement> place(GpuCursor& cursor, GpuCursor& experts,
                                    const ParallelLayout& layout, int replicas,
                                    const SourcePosition& position) {
  const int per_node = cursor.gpus_per_node();
  if (layout.tensor > per_node && layout.tensor % per_node != 0) {
    throw ConfigError(
        position,
        fmt::format("tensor_parallel = {} is more than a node's {} GPUs and "
                    "no multiple of them; use {} or {}",
                    layout.tensor, per_node, per_node, (layout.tensor / per_node + 1) * per_node));
  }
  const auto add_group = [&](std::vector<GpuId>& stage) {
    const std::optional<GpuId> first = cursor.take(layout.tensor);
    if (!first) {
      throw ConfigError(
          position,
          fmt::format("{} group(s) of tensor_parallel = {} do not fit on {} node(s) of {} GPUs "
                      "without straddling nodes; use a tensor_parallel that divides {}, fewer "
                      "replicas or more nodes",
                      replicas * layout.pipeline * layout.groups(), layout.tensor, cursor.nodes(),
                      per_node, per_node));
    }
    for (int rank = 0; rank < layout.tensor; ++rank)
      stage.push_back({first->value + static_cast<std::uint32_t>(rank)});
  };
  std::vector<ReplicaPlacement> placements(static_cast<std::size_t>(replicas));
  for (ReplicaPlacement& replica : placements) {
    replica.stages.resize(static_cast<std::size_t>(layout.pipeline));
    for (std::vector<GpuId>& stage : replica.stages) {
      for (int group = 0; group < layout.groups(); ++group) add_group(stage);
    }
    for (int rank = 0; rank < layout.expert_gpus; ++rank) {
      const std::optional<GpuId> gpu = experts.take(1);
      if (!gpu) {
        throw ConfigError(position,
                          fmt::format("expert_gpus = {} of {} replicas find no GPUs beside those "
                                      "of attention; lower one of them or name a larger cluster",
                                      layout.expert_gpus, replicas));
      }
      replica.experts.push_back(*gpu);
    }
  }
  return placements;
}

}  // namespace

std::vector<ReplicaPlacement> place_replicas(const ClusterSpec& cluster,
                                             const ParallelLayout& layout, int replicas,
                                             const SourcePosition& position,
                                             const NodeGroups& nodes) {
  GpuCursor cursor(cluster, nodes.attention), others(cluster, nodes.experts);
  return place(cursor, nodes.experts == nodes.attention ? cursor : others, layout, replicas,
               position);
}

std::vector<std::vector<ReplicaPlacement>> place_pools(const std::vector<PoolSpec>& pools) {
  std::map<std::size_t, GpuCursor> cursors;
  std::map<std::string, GpuCursor> begins;  // by pool
  std::vector<std::vector<ReplicaPlacement>> placements;
  for (const PoolSpec& pool : pools) {
    const Scenario& scenario = pool.scenario;
    const Deployment& deployment = scenario.deployment;
    const auto shared = begins.find(deployment.shares_gpus_with);
    if (!deployment.shares_gpus_with.empty() && shared != begins.end()) {
      GpuCursor again = shared->second;
      placements.push_back(place(again, again, deployment.layout, replicas_max(scenario),
                                 scenario.deployment_position));
      std::ranges::reverse(placements.back());
      continue;
    }
    GpuCursor& cursor =
        cursors.try_emplace(deployment.node_group, scenario.cluster, deployment.node_group)
            .first->second;
    if (deployment.own_nodes) cursor.finish_node();
    begins.emplace(pool.name, cursor);
    GpuCursor& experts =
        cursors.try_emplace(deployment.expert_group, scenario.cluster, deployment.expert_group)
            .first->second;
    placements.push_back(place(cursor, experts, deployment.layout, replicas_max(scenario),
                               scenario.deployment_position));
    if (deployment.own_nodes) cursor.finish_node();
  }
  return placements;
}

}  // namespace foretoken
