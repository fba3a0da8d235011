// The YAML file that a launch line's flags may name: keys that are flags themselves.
#pragma once

#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {

/// Puts what the file says among the server's flags, in place of the one that names it. Throws
/// ConfigError for a file that cannot be read.
void read_options_file(const Launcher& launcher, const LaunchSurroundings& surroundings,
                       LaunchedServer& server);

}  // namespace foretoken
