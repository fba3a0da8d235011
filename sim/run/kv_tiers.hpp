// What KV blocks in the host's memory and in stores come to over a run. Internal to sim/run.
#pragma once

#include "sim/report/report.hpp"
#include "sim/run/deployed_pools.hpp"

namespace foretoken {

/// Nothing of tiers that no pool has.
void add_kv_tiers(const DeployedPools& pools, Report& report);

}  // namespace foretoken
