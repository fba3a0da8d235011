// Whether a cluster has the GPUs that a deployment asks for, and its layout fits the model.
#include "sim/base/error.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// "cluster 'h100-sxm-8'", or the group of its nodes.
std::string nodes_text(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.cluster;
  if (cluster.groups.empty()) return fmt::format("cluster '{}'", cluster.name);
  return fmt::format("group '{}' of cluster '{}'",
                     cluster.groups[scenario.deployment.node_group].name, cluster.name);
}

/// GPUs of all replicas that there may be, on a group of nodes; more than a cluster has until that
/// was checked.
std::int64_t gpus_wanted(const Scenario& scenario, std::size_t group) {
  const Deployment& deployment = scenario.deployment;
  std::int64_t gpus = 0;
  if (deployment.node_group == group) gpus += deployment.layout.attention_ranks();
  if (deployment.expert_group == group) gpus += deployment.layout.expert_gpus;
  return gpus * replicas_max(scenario);
}

int gpus_of_group(const Scenario& scenario) {
  return scenario.cluster.nodes_of(scenario.deployment.node_group).count *
         scenario.cluster.node.gpus;
}

/// The scenario as seen from the nodes of its experts.
Scenario seen_from_experts(const Scenario& scenario) {
  Scenario seen = scenario;
  seen.deployment.node_group = scenario.deployment.expert_group;
  seen.cluster = scenario.cluster.seen_from(seen.deployment.node_group);
  return seen;
}

/// Experts on other nodes than attention.
bool has_expert_nodes(const Scenario& scenario) {
  const Deployment& deployment = scenario.deployment;
  return deployment.layout.expert_gpus > 0 && deployment.expert_group != deployment.node_group;
}

std::string replicas_text(const Scenario& scenario) {
  const auto replicas = replicas_max(scenario);
  return fmt::format("{} replica{}", replicas, replicas == 1 ? "" : "s");
}

void check_experts_fit(const Scenario& scenario, Diagnostics& diagnostics) {
  if (!has_expert_nodes(scenario)) return;
  const Scenario seen = seen_from_experts(scenario);
  const std::int64_t needed = gpus_wanted(scenario, scenario.deployment.expert_group);
  if (needed <= gpus_of_group(seen)) return;
  diagnostics.add(scenario.deployment_position,
                  fmt::format("{} x expert_gpus {} need {} GPUs, but {} has {}; lower "
                              "one of them or name a larger cluster",
                              replicas_text(scenario), scenario.deployment.layout.expert_gpus,
                              needed, nodes_text(seen), gpus_of_group(seen)));
}

}  // namespace

void check_fit(const Scenario& scenario, Diagnostics& diagnostics) {
  const ParallelLayout& layout = scenario.deployment.layout;
  check_layout(scenario.model, layout, scenario.deployment_position, diagnostics);
  check_experts_fit(scenario, diagnostics);
  const std::int64_t needed = gpus_wanted(scenario, scenario.deployment.node_group);
  const bool has_experts = layout.expert_gpus > 0 && !has_expert_nodes(scenario);
  const int available = gpus_of_group(scenario);
  if (needed > available) {
    diagnostics.add(
        scenario.deployment_position,
        fmt::format(
            "{} x {}tensor_parallel {}{}{} x pipeline_parallel {}{} need {} GPUs, but "
            "{} has {}; lower one of them or name a larger cluster",
            replicas_text(scenario), has_experts ? "(" : "", layout.tensor,
            layout.data_parallel_attention > 1
                ? fmt::format(" x data_parallel_attention {}", layout.data_parallel_attention)
                : "",
            layout.prefill_context > 1
                ? fmt::format(" x prefill_context_parallel {}", layout.prefill_context)
                : "",
            layout.pipeline,
            has_experts ? fmt::format(" + expert_gpus {})", layout.expert_gpus) : "", needed,
            nodes_text(scenario), available));
  }
}

void check_pools_fit(const Scenario& scenario, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < scenario.pools.size(); ++i) {
    const Scenario& pool = scenario.pools[i].scenario;
    const std::size_t group = pool.deployment.node_group;
    std::int64_t needed = 0;
    std::string needs;
    for (std::size_t j = 0; j <= i; ++j) {
      const Scenario& other = scenario.pools[j].scenario;
      if (gpus_wanted(other, group) == 0) continue;
      if (!other.deployment.shares_gpus_with.empty()) continue;
      const std::int64_t gpus = gpus_wanted(other, group);
      needed += gpus;
      needs += fmt::format("{}{} {}", needs.empty() ? "" : ", ", scenario.pools[j].name, gpus);
    }
    if (needed <= gpus_of_group(pool)) continue;
    diagnostics.add(pool.deployment_position,
                    fmt::format("the pools need {} GPUs ({}), but {} has {}; lower a layout or "
                                "replicas, or name a larger cluster",
                                needed, needs, nodes_text(pool), gpus_of_group(pool)));
    return;
  }
}

}  // namespace foretoken
