// The flags that tell a server in which formats to keep KV caches and recurrent states.
#pragma once

#include <string>
#include <vector>

#include "sim/deployments/launched_server.hpp"
#include "sim/deployments/launcher.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Sets them where the server would not choose the scenario's formats by itself; `notes` say where
/// it has no such flag.
void set_cache_formats(const Scenario& scenario, const Launcher& launcher, LaunchedServer& server,
                       std::vector<std::string>& notes);

}  // namespace foretoken
