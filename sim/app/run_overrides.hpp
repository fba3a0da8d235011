// The keys of a scenario that a run changes: by --set, and by the request of a run of many.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// Adds --set to a subcommand. `where`: "the scenario for all layouts".
void add_set_option(CLI::App& command, std::vector<std::string>& overrides,
                    const std::string& where = "the scenario");

/// Adds --goal to a subcommand that says which runs are best.
void add_goal_option(CLI::App& command, std::vector<std::string>& goals);

/// `overrides` and then the request's, which win.
std::vector<std::string> with(std::vector<std::string> overrides, const RunRequest& request);

}  // namespace foretoken
