// How many replicas of a layout a cluster holds: what `replicas = "auto"` means.
#pragma once

#include "hardware/cluster.hpp"
#include "models/parallel_layout.hpp"

namespace foretoken {

/// As sim/run places them: a tensor-parallel group stays in one node, or takes whole nodes. 0 if
/// not even one fits.
int replicas_that_fit(const ClusterSpec& cluster, const ParallelLayout& layout);

}  // namespace foretoken
