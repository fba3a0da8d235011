// What a plan cannot be asked, whatever it may choose from.
#include <algorithm>

#include "sim/planner/plan/plan_space.hpp"

namespace foretoken {

void check_plan_question(const Scenario& scenario) {
  const auto waits = [](const auto& targets) { return targets.ttft || targets.e2e; };
  if (!waits(scenario.slo) && std::ranges::none_of(scenario.slo.classes, waits)) {
    throw ConfigError({"slo"},
                      "a plan needs a target that queueing can break: give [slo] ttft or e2e");
  }
  for (const PoolSpec& pool : pools_of(scenario)) {
    if (!pool.scenario.autoscaler) continue;
    throw ConfigError({pool.name.empty() ? "autoscaler" : "pool." + pool.name + ".autoscaler"},
                      "a plan finds a fixed number of replicas; remove the table, "
                      "or simulate the autoscaler itself");
  }
}

}  // namespace foretoken
