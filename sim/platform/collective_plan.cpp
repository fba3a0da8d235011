// Who sends over which links is kernels/communication/group_traffic.hpp's; here it becomes flows of
// bytes, each held to its share of the rate at which its phase moves.
#include "sim/platform/collective_plan.hpp"

#include "kernels/communication/group_traffic.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

GroupTraffic traffic_of(const Wiring& wiring, TrafficPattern pattern,
                        std::span<const GpuId> group) {
  switch (pattern) {
    case TrafficPattern::ring:
      return ring_traffic(wiring, group);
    case TrafficPattern::ring_of_node:
      return node_ring_traffic(wiring, group);
    case TrafficPattern::rails:
      return rail_traffic(wiring, group);
    case TrafficPattern::exchange:
      return exchange_traffic(wiring, group);
    case TrafficPattern::pair:
      break;
  }
  return send_traffic(wiring, group[0], group[1]);
}

std::vector<PlannedFlow> plan_flows(const Wiring& wiring, const CollectivePhase& phase,
                                    const GroupLinks& links, std::span<const GpuId> group) {
  GroupTraffic traffic = traffic_of(wiring, phase.pattern, group);
  // An exchange's shares are those of bytes spread evenly over the others; the phase may say that
  // more of them stay (experts of one node share a copy of a token that crosses).
  double inside = 1, across = 1;
  if (phase.pattern == TrafficPattern::exchange && links.nodes > 1) {
    const double staying = (links.ranks_per_node_max - 1.0) / (links.ranks - 1);
    inside = staying > 0 ? phase.inside_share / staying : 0;
    across = (1 - phase.inside_share) / (1 - staying);
  }
  std::vector<PlannedFlow> flows;
  for (TrafficShare& share : traffic.shares) {
    const double portion = share.share * (share.is_across ? across : inside);
    if (portion <= 0) continue;
    flows.push_back({std::move(share.route), phase.bytes * portion, phase.rate * portion});
  }
  return flows;
}

}  // namespace

CollectivePlan plan_collective(const Wiring& wiring, const CollectiveCall& call,
                               const GroupLinks& links, std::span<const GpuId> group) {
  FORETOKEN_CHECK(call.size.value() >= 0, "a collective of {} B", call.size.value());
  FORETOKEN_CHECK(call.op != CollectiveOp::send_recv || group.size() <= 2,
                  "send_recv between {} GPUs", group.size());
  CollectivePlan plan;
  for (const CollectivePhase& phase : collective_cost(call, links, wiring.cluster().comm).phases) {
    PlannedPhase& planned = plan.emplace_back();
    planned.steps = phase.steps;
    planned.latency = phase.latency;
    if (phase.bytes.value() > 0) planned.flows = plan_flows(wiring, phase, links, group);
  }
  return plan;
}

}  // namespace foretoken
