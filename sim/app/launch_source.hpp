// A scenario that is pasted rather than written: what somebody launches today (--from) and what
// comes in. For simulate, validate and import.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/deployments/launched_scenario.hpp"

namespace foretoken {

struct LaunchSource {
  std::string from, service, model, cluster;
  std::string rate, traffic;
  int users = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0, requests = 0;
};

/// --service and what describes the traffic, each only with `from`.
void add_launch_options(CLI::App& command, CLI::Option* from, LaunchSource& source);

/// Servers, cluster and traffic as a scenario's tables; what was assumed is among the notes.
LaunchedScenario scenario_from(const LaunchSource& source);
/// The servers alone, for whoever brings the traffic along.
LaunchedScenario servers_from(const LaunchSource& source);

/// The files it reads, for Outputs.
std::vector<std::filesystem::path> inputs_of(const LaunchSource& source);

/// What became of every flag, and the notes, in lines of at most `width` columns. `is_short`: only
/// the flags that did not become a key.
std::string import_text(const LaunchedScenario& scenario, int width, bool colour, bool is_short);

}  // namespace foretoken
