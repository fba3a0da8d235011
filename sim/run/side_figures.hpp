// How busy attention's GPUs were and the experts', where these have GPUs of their own. Internal to
// sim/run.
#pragma once

#include <optional>

#include "sim/report/side_figures.hpp"
#include "sim/run/deployed_pools.hpp"

namespace foretoken {

/// nullopt: the pool's experts are on attention's GPUs.
std::optional<SideFigures> sides_of(const DeployedPools& pools, std::size_t pool);

}  // namespace foretoken
