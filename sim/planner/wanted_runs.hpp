// Runs what is left of a list of runs, whoever else is at it: takes runs from the store, has them
// run, keeps what comes out.
#pragma once

#include <functional>
#include <vector>

#include "sim/planner/run_store.hpp"

namespace foretoken {

struct RunHost {
  /// Waits so many seconds for others; false: the user asked to stop.
  std::function<bool(double seconds)> pause;
  /// Told when a run is over.
  std::function<void(const RunStore::Counts& counts)> progress;
};

/// Ends when all of `requests`, which `store` has been told to want, are finished, by whomever.
/// false: the user asked to stop; the leases are given back then.
bool run_wanted(const std::vector<RunRequest>& requests, ScenarioRunner& runner, RunStore& store,
                const RunHost& host);

}  // namespace foretoken
