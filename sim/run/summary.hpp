// From what a run left behind to the plain Report. Internal to sim/run.
#pragma once

#include "sim/metrics/timeline.hpp"
#include "sim/platform/platform.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/kv_cache.hpp"
#include "sim/serving/memory_plan.hpp"
#include "sim/serving/stage_pricer.hpp"

namespace foretoken {

struct SimulatedRun {
  const Timeline& timeline;
  PriceTotals totals;
  MemoryPlan memory;
  std::int64_t kv_blocks = 0;  // of one attention rank
  PrefixTotals prefixes;
  HostTotals host;
  Platform::Counters counters;
  Seconds ended;  // date of the last event
  std::int64_t skipped_lines = 0;
};

Report summarize_run(const Scenario& scenario, const SimulatedRun& outcome);

}  // namespace foretoken
