// A run that a real server served, as `validate` and `calibrate-host` are given it: the requests
// and the scenario of what served them, from whatever lies beside them or is said in its place.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/app/launch_source.hpp"
#include "sim/scenario/scenario.hpp"
#include "workloads/measurements/served_run.hpp"

namespace foretoken {

/// What the command line says of it beside the folder; "" = as recorded.
struct RecordedSource {
  LaunchSource launched;
  std::string model, cluster;
  std::vector<std::string> overrides;
};

/// Where `measured` was read from.
std::filesystem::path folder_of(const ServedRun& measured);

/// The server under the recorded requests; what could not be taken into account is added to
/// `notes`. Throws ConfigError.
Scenario scenario_of(const RecordedSource& source, const ServedRun& measured,
                     std::vector<std::string>& notes);

/// The files that it is read from, for Outputs.
std::vector<std::filesystem::path> inputs_of(const RecordedSource& source,
                                             const ServedRun& measured);

}  // namespace foretoken
