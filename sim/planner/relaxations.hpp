// "What would help?" asked one change at a time: runs of a scenario with each thing that may hold it
// up relaxed. Changes are `--set` keys, so that whoever likes one can repeat it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/planner/scenario_runner.hpp"
#include "sim/report/latency_explanation.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Those that mean something for `scenario`: hardware (a quarter more of a rate, half of a
/// latency), the CPU's time, KV memory, replicas, the engine's limits. `kv_blocks`: of a replica,
/// by pool, as the run has them. What it leaves out: other parallel layouts and other engines, which
/// `compare` and `sweep` are for. No value has been measured yet.
std::vector<RelaxedRun> relaxations(const Scenario& scenario,
                                    const std::vector<std::int64_t>& kv_blocks);

/// Runs them all; the runner's report is an object with "value_ms". Returns false if the user asked
/// to stop.
bool run_relaxed(std::vector<RelaxedRun>& runs, ScenarioRunner& runner);

}  // namespace foretoken
