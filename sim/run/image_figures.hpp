// The report's figures of images.
#pragma once

#include "sim/report/report.hpp"
#include "sim/run/deployed_pools.hpp"

namespace foretoken {

/// Nothing where requests have none.
void add_images(const DeployedPools& pools, Report& report);

}  // namespace foretoken
