// Fits a host's constants (sim/run/host_fit.hpp) to runs that a real server served: every trial is
// simulated for every run, in child processes.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "sim/run/catalogs.hpp"
#include "sim/run/host_fit.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// A recorded run and the scenario that simulates its requests.
struct RecordedRun {
  ServedRun measured;
  Scenario scenario;
};

/// The first run's host is the start; `slots` 0: one for each processor. `tell` is called after
/// every simulation with how many are done and how many are asked for so far. Throws ConfigError
/// for a scenario that cannot run, RunError for one that broke off, Interrupted.
HostFit calibrate_host(const std::vector<RecordedRun>& runs, const Catalogs& catalogs = {},
                       std::size_t slots = 0,
                       const std::function<void(std::size_t, std::size_t)>& tell = {});

}  // namespace foretoken
