// The keys of a scenario that a run changes: by --set, and by what a run of many is about.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/base/change.hpp"

namespace foretoken {

/// Adds --set to a subcommand. `where`: "the scenario for all layouts".
void add_set_option(CLI::App& command, std::vector<std::string>& overrides,
                    const std::string& where = "the scenario");

/// Adds --goal to a subcommand that says which runs are best.
void add_goal_option(CLI::App& command, std::vector<std::string>& goals);

/// What --set said, and then `changes`, which win.
Changes with(const std::vector<std::string>& overrides, const Changes& changes);

}  // namespace foretoken
