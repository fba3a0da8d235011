// From what a run left behind to the plain Report. Internal to sim/run.
#pragma once

#include "sim/metrics/timeline.hpp"
#include "sim/platform/platform.hpp"
#include "sim/report/report.hpp"
#include "sim/run/deployed_pools.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

struct SimulatedRun {
  const Timeline& timeline;
  const DeployedPools& pools;
  Platform::Counters counters;
  Platform::Traffic traffic;
  Seconds ended;  // date of the last event
  std::int64_t skipped_lines = 0;
};

Report summarize_run(const Scenario& scenario, const SimulatedRun& outcome);

}  // namespace foretoken
