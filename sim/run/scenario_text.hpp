// How a report names what was simulated. Internal to sim/run.
#pragma once

#include <string>

#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// GPUs of all replicas that a pool may have.
int gpus_of(const Scenario& pool);

/// "Llama 3.1 70B (bf16) on 4 x NVIDIA H200 SXM 141 GB, TP4"
std::string run_title(const Scenario& scenario);

/// The resolved scenario with paths as seen from the working folder where they lie below it: a
/// report should read the same wherever the files were checked out.
Value scenario_seen_from_here(const Scenario& scenario);

}  // namespace foretoken
