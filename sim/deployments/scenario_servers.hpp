// The servers that a scenario describes, as they would be launched: every flag that the simulation
// assumed, in the engine's own words, and what no flag says. Read back by launched_scenario.hpp
// they are the same scenario's tables.
#pragma once

#include "sim/deployments/launched_server.hpp"

namespace foretoken {

/// Throws ConfigError where no launch line can say it at all: an engine that is none of ours.
LaunchedDeployment servers_of(const Scenario& scenario);

}  // namespace foretoken
