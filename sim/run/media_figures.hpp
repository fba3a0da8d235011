// The report's figures of images and audio.
#pragma once

#include "sim/report/report.hpp"
#include "sim/run/deployed_pools.hpp"

namespace foretoken {

/// Nothing where requests have none.
void add_media(const DeployedPools& pools, Report& report);

}  // namespace foretoken
