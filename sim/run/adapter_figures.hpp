// What adapters (LoRA) did in a run. Internal to sim/run.
#pragma once

#include "sim/report/report.hpp"
#include "sim/run/deployed_pools.hpp"

namespace foretoken {

/// Fills `report.adapters` if the pool that is `shown` serves adapters.
void add_adapters(const Scenario& shown, const DeployedPools& pools, Report& report);

}  // namespace foretoken
