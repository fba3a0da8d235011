// How many replicas of a layout a cluster holds: what `replicas = "auto"` means.
#pragma once

#include "hardware/cluster.hpp"
#include "models/parallel_layout.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// As sim/run places them: a tensor-parallel group stays in one node, or takes whole nodes. Of a
/// cluster with groups of nodes, on that one. 0 if not even one fits.
int replicas_that_fit(const ClusterSpec& cluster, const ParallelLayout& layout,
                      std::size_t node_group = 0);

/// Puts a number where a scenario says "auto": as many as fit, beside the other pools if there are
/// some; 1 if none does. Two pools of the same nodes that both ask for it are a mistake.
void fill_replicas(Scenario& scenario, Diagnostics& diagnostics);

}  // namespace foretoken
