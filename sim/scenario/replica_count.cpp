#include "sim/scenario/replica_count.hpp"

#include <algorithm>

#include "sim/scenario/gpu_cursor.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// Whether the cursor has GPUs for all replicas; takes them.
bool take_replicas(GpuCursor& cursor, const Scenario& pool) {
  const Deployment& deployment = pool.deployment;
  const ParallelLayout& layout = deployment.layout;
  const int per_node = cursor.gpus_per_node();
  if (layout.tensor > per_node && layout.tensor % per_node != 0) return false;
  if (deployment.own_nodes) cursor.finish_node();
  const std::int64_t groups = std::int64_t{replicas_max(pool)} * layout.pipeline * layout.groups();
  for (std::int64_t i = 0; i < groups; ++i) {
    if (!cursor.take(layout.tensor)) return false;
  }
  if (deployment.own_nodes) cursor.finish_node();
  return true;
}

/// Whether all pools that stand on the nodes of `pool` find room there.
bool fit(const Scenario& scenario, const Scenario& pool) {
  GpuCursor cursor(pool.cluster, pool.deployment.node_group);
  return std::ranges::all_of(scenario.pools, [&](const PoolSpec& other) {
    return other.scenario.deployment.node_group != pool.deployment.node_group ||
           !other.scenario.deployment.shares_gpus_with.empty() ||
           take_replicas(cursor, other.scenario);
  });
}

void fill_pool(const Scenario& scenario, Scenario& pool) {
  int& replicas = pool.deployment.replicas;
  const int most =
      replicas_that_fit(pool.cluster, pool.deployment.layout, pool.deployment.node_group);
  int fits = 1, too_many = std::max(1, most) + 1;
  while (fits + 1 < too_many) {
    replicas = fits + (too_many - fits) / 2;
    (fit(scenario, pool) ? fits : too_many) = replicas;
  }
  replicas = fits;
}

}  // namespace

int replicas_that_fit(const ClusterSpec& cluster, const ParallelLayout& layout,
                      std::size_t node_group) {
  const ClusterSpec::NodeRange nodes = cluster.nodes_of(node_group);
  const int per_node = cluster.node_at(nodes.first).gpus;
  int groups = 0;
  if (layout.tensor <= per_node) {
    groups = nodes.count * (per_node / layout.tensor);
  } else if (layout.tensor % per_node == 0) {
    groups = nodes.count / (layout.tensor / per_node);
  }
  return groups / (layout.pipeline * layout.groups());
}

void fill_replicas(Scenario& scenario, Diagnostics& diagnostics) {
  Deployment& deployment = scenario.deployment;
  if (scenario.pools.empty() && deployment.replicas == replicas_auto) {
    deployment.replicas =
        std::max(1, replicas_that_fit(scenario.cluster, deployment.layout, deployment.node_group));
  }
  std::vector<std::size_t> filled;  // groups of nodes
  for (PoolSpec& pool : scenario.pools) {
    if (pool.scenario.deployment.replicas != replicas_auto) continue;
    const std::size_t group = pool.scenario.deployment.node_group;
    if (std::ranges::find(filled, group) != filled.end()) {
      diagnostics.add(pool.scenario.deployment_position,
                      fmt::format("pool.{}.replicas: is \"auto\", and so is another pool's on the "
                                  "same nodes; give one of them a number",
                                  pool.name));
      return;
    }
    filled.push_back(group);
    fill_pool(scenario, pool.scenario);
  }
}

}  // namespace foretoken
