// What moves over which links is kernels/group_traffic.hpp's; here it becomes flows of bytes. A
// flow is held to its share of the rate at which the fullest link of the group is full.
#include "sim/platform/collective_plan.hpp"

#include "kernels/group_traffic.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

int steps_of(CollectiveOp op, int ranks) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2 * (ranks - 1);
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all:
      return ranks - 1;
    case CollectiveOp::send_recv:
      break;
  }
  return 1;
}

}  // namespace

CollectivePlan plan_collective(const ClusterTopology& topology, CollectiveOp op,
                               std::span<const GpuId> group, Bytes size) {
  FORETOKEN_CHECK(!group.empty(), "a collective of no GPU");
  FORETOKEN_CHECK(size.value() >= 0, "a collective of {} B", size.value());
  CollectivePlan plan;
  if (group.size() == 1) return plan;

  const bool is_send = op == CollectiveOp::send_recv;
  FORETOKEN_CHECK(!is_send || group.size() == 2, "send_recv between {} GPUs", group.size());
  const Wiring& wiring = topology.wiring();
  GroupTraffic traffic = op == CollectiveOp::all_to_all ? exchange_traffic(wiring, group)
                                                        : ring_traffic(wiring, group);
  const BytesPerSecond rate = full_rate(wiring, traffic.shares);
  plan.steps = steps_of(op, static_cast<int>(group.size()));
  plan.step_latency = traffic.latency;
  if (size.value() == 0) return plan;

  // A send goes at the rate of a ring of two, of which it is one direction.
  if (is_send) traffic = send_traffic(wiring, group[0], group[1]);
  const Bytes moved = is_send ? size : size / static_cast<double>(group.size());
  for (TrafficShare& share : traffic.shares)
    plan.flows.push_back({std::move(share.route), moved * share.share, rate * share.share});
  return plan;
}

}  // namespace foretoken
