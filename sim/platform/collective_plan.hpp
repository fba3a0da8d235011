// A collective as steps of flows: what each step moves over which links, how many steps there are,
// and the latency each begins with. A flow is held to the speed at which the whole collective moves
// when nobody else uses the links, since ranks step together: so the plan agrees with
// kernels/collectives.hpp uncontended, and slows down only where links are shared.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel.hpp"
#include "sim/platform/cluster_topology.hpp"

namespace foretoken {

struct PlannedFlow {
  Route route;
  Bytes size;           // in one step
  BytesPerSecond rate;  // at most
};

struct CollectivePlan {
  int steps = 0;  // 0: a group of one, nothing to do
  Seconds step_latency;
  std::vector<PlannedFlow> flows;  // of each step; none if there is nothing to move
};

/// `size` as kernels/collectives.hpp counts it. No GPU may be in `group` twice. send_recv goes from
/// the first of two to the second.
CollectivePlan plan_collective(const ClusterTopology& topology, CollectiveOp op,
                               std::span<const GpuId> group, Bytes size);

}  // namespace foretoken
