// "What would help?" asked one change at a time: runs of a scenario with each thing that may hold
// it up relaxed. Whoever likes a change repeats it with --set.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/report/latency_explanation.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Those that mean something for `scenario`: hardware (a quarter more of a rate, half of a
/// latency), the CPU's time, KV memory, replicas, the engine's limits. `kv_blocks`: of a replica,
/// by pool, as the run has them. What it leaves out: other parallel layouts and other engines,
/// which `compare` and `sweep` are for. No value has been measured yet.
std::vector<RelaxedRun> relaxations(const Scenario& scenario,
                                    const std::vector<std::int64_t>& kv_blocks);

}  // namespace foretoken
