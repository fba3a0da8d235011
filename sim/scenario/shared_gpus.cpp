// Pools that stand on the same GPUs: which may, and how many GPUs all of them take.
#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

int gpus_at_most(const PoolSpec& pool) {
  return pool.scenario.deployment.layout.ranks() * replicas_max(pool.scenario);
}

int gpus_at_first(const PoolSpec& pool) {
  return pool.scenario.deployment.layout.ranks() * pool.scenario.deployment.replicas;
}

int gpus_of_least(const PoolSpec& pool) {
  return pool.scenario.deployment.layout.ranks() * pool.scenario.autoscaler->min;
}

/// Whether tensor-parallel groups stand side by side without leaving GPUs of a node out.
bool fills_nodes(const Scenario& pool) {
  const int tensor = pool.deployment.layout.tensor, node = pool.cluster.node.gpus;
  return tensor % node == 0 || node % tensor == 0;
}

/// Why `pool` cannot share with `other`; "" = it can.
std::string problem_of(const PoolSpec& pool, const PoolSpec& other) {
  const Deployment& own = pool.scenario.deployment;
  const Deployment& theirs = other.scenario.deployment;
  if (!theirs.shares_gpus_with.empty())
    return fmt::format("itself shares GPUs with {}; name that pool", theirs.shares_gpus_with);
  if (own.node_group != theirs.node_group) return "is on other nodes; give both the same `nodes`";
  if (own.own_nodes) return "has the same GPUs and decides own_nodes; remove it here";
  for (const PoolSpec* one : {&pool, &other}) {
    if (!one->scenario.autoscaler)
      return fmt::format(
          "needs autoscalers in both, which decide when GPUs change hands; add "
          "[pool.{}.autoscaler]",
          one->name);
    if (!fills_nodes(one->scenario))
      return fmt::format(
          "needs groups that fill nodes; give pool {} a tensor_parallel that "
          "divides {}",
          one->name, one->scenario.cluster.node.gpus);
  }
  if (gpus_at_most(pool) != gpus_at_most(other)) {
    return fmt::format(
        "takes {} GPUs at most, and {} {}; choose both autoscalers' max so that they "
        "are equal",
        gpus_at_most(other), pool.name, gpus_at_most(pool));
  }
  if (gpus_at_first(pool) + gpus_at_first(other) > gpus_at_most(other)) {
    return fmt::format("and {} start with {} GPUs, but share {}; lower replicas of one", pool.name,
                       gpus_at_first(pool) + gpus_at_first(other), gpus_at_most(other));
  }
  const int least = gpus_of_least(pool) + gpus_of_least(other);
  if (least > gpus_at_most(other)) {
    return fmt::format("and {} need at least {} GPUs, but share {}; lower min of one", pool.name,
                       least, gpus_at_most(other));
  }
  return "";
}

}  // namespace

bool shares_gpus(const std::vector<PoolSpec>& pools) {
  return std::ranges::any_of(pools, [](const PoolSpec& pool) {
    return !pool.scenario.deployment.shares_gpus_with.empty();
  });
}

int gpus_of_all(const std::vector<PoolSpec>& pools) {
  int gpus = 0;
  for (const PoolSpec& pool : pools)
    gpus += pool.scenario.deployment.shares_gpus_with.empty() ? gpus_at_most(pool) : 0;
  return gpus;
}

void check_shared_gpus(const Scenario& scenario, Diagnostics& diagnostics) {
  if (!shares_gpus(scenario.pools)) return;
  for (const Failure& failure : scenario.failures) {
    if (failure.recovers_after) continue;
    diagnostics.add(failure.position,
                    "failures: which pool keeps the remaining shared GPUs is not modelled; give "
                    "recovers_after");
  }
  std::vector<std::string_view> above, taken;
  for (const PoolSpec& pool : scenario.pools) {
    const std::string& name = pool.scenario.deployment.shares_gpus_with;
    const auto tell = [&](const std::string& problem) {
      diagnostics.add(pool.scenario.deployment_position,
                      fmt::format("pool.{}.shares_gpus_with: {}", pool.name, problem));
    };
    const auto other = std::ranges::find(scenario.pools, name, &PoolSpec::name);
    if (name.empty()) {
      above.push_back(pool.name);
      continue;
    }
    if (std::ranges::find(above, name) == above.end() && other == scenario.pools.end()) {
      tell(unknown_name_message("pool", name, above));
    } else if (name == pool.name) {
      tell("names the pool itself; name another, or omit it");
    } else if (other > std::ranges::find(scenario.pools, pool.name, &PoolSpec::name)) {
      tell(fmt::format("pool {} comes later in the file; write the key there", name));
    } else if (std::ranges::find(taken, name) != taken.end()) {
      tell(fmt::format("pool {} shares its GPUs with another already; two pools can", name));
    } else if (const std::string problem = problem_of(pool, *other); !problem.empty()) {
      tell(fmt::format("pool {} {}", name, problem));
    }
    taken.push_back(name);
  }
}

}  // namespace foretoken
