// A scenario that is pasted rather than written: what somebody launches today (--from) and what
// comes in. For simulate, validate and import.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/app/traffic_source.hpp"
#include "sim/deployments/launched_scenario.hpp"

namespace foretoken {

struct LaunchSource {
  std::string from, service, model, cluster;
  TrafficSource traffic;
};

/// --from in place of `file`, with --cluster, --model and add_launch_options().
CLI::Option* add_from_options(CLI::App& command, CLI::Option* file, LaunchSource& source);
/// --service and the numbers that describe traffic, each only with `from`.
void add_launch_options(CLI::App& command, CLI::Option* from, LaunchSource& source);

/// Servers, cluster and traffic as a scenario's tables; what was assumed is among the notes.
LaunchedScenario scenario_from(const LaunchSource& source);
/// The servers alone, for whoever brings the traffic along.
LaunchedScenario servers_from(const LaunchSource& source);

/// For commands that run a scenario's file again and again: what is launched, written to
/// imported.toml in `folder`, which is made. Returns its path. `quiet`: nothing is said of flags.
std::string imported_file(const LaunchSource& source, const std::filesystem::path& folder,
                          bool quiet);

/// The files it reads, for Outputs.
std::vector<std::filesystem::path> inputs_of(const LaunchSource& source);

/// What became of every flag, and the notes, in lines of at most `width` columns. `is_short`: only
/// the flags that did not become a key.
std::string import_text(const LaunchedScenario& scenario, int width, bool colour, bool is_short);

}  // namespace foretoken
