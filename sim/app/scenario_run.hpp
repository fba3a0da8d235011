// One run of many: a scenario with keys changed, run in this process.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// The report of the scenario with `overrides` and then the request's, as an object. Without its
/// timeline, which is most of it and which nobody lays side by side with another.
Value run_without_timeline(const std::string& scenario, const std::vector<std::string>& overrides,
                           const RunRequest& request);

}  // namespace foretoken
