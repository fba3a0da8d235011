// The keys that a run of many changes.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// `overrides` and then the request's, which win.
std::vector<std::string> with(std::vector<std::string> overrides, const RunRequest& request);

}  // namespace foretoken
