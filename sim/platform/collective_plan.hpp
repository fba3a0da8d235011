// A collective as phases of flows: what each rank moves over which links, in how many steps and
// after which latency. A flow is held to the speed at which the whole phase moves when nobody else
// uses the links, since ranks step together: so the plan agrees with
// kernels/communication/collective_cost.hpp uncontended, and slows down only where links are
// shared.
#pragma once

#include <span>
#include <vector>

#include "kernels/communication/collective_cost.hpp"
#include "sim/platform/cluster_topology.hpp"

namespace foretoken {

struct PlannedFlow {
  Route route;
  Bytes size;           // in all steps of its phase together
  BytesPerSecond rate;  // at most
};

struct PlannedPhase {
  int steps = 1;
  Seconds latency;                 // of all steps together
  std::vector<PlannedFlow> flows;  // none if there is nothing to move
};

/// No phases: a group of one, nothing to do.
using CollectivePlan = std::vector<PlannedPhase>;

/// `links` are the group's. send_recv goes from the first of two to the second.
CollectivePlan plan_collective(const Wiring& wiring, const CollectiveCall& call,
                               const GroupLinks& links, std::span<const GpuId> group);

}  // namespace foretoken
