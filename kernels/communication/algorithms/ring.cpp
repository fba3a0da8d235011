// NCCL's ring: in every step each rank passes one n-th of the data to the next. All-reduce goes
// round twice (reduce-scatter, all-gather). A broadcast is a chain: all S bytes over every hop, at
// costs of its own; where a fabric names none, a ring's stand for them.
#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/collective_phases.hpp"

namespace foretoken {
namespace {

bool ring_serves(CollectiveOp op, const GroupLinks& links, const CommParameters& parameters) {
  const bool is_known = op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
                        op == CollectiveOp::reduce_scatter || op == CollectiveOp::broadcast;
  if (op == CollectiveOp::broadcast && is_any_offered(broadcast_protocols, links, parameters))
    return true;
  return is_known && is_any_offered(ring_protocols, links, parameters);
}

double own_part(CollectiveOp op, const GroupLinks& links, const CommParameters& parameters) {
  const OwnPart& own =
      links.ranks_per_node_max > 1 ? parameters.inside.own_part : parameters.across.own_part;
  if (op == CollectiveOp::all_reduce) return own.all_reduce;
  return op == CollectiveOp::all_gather ? own.all_gather : own.reduce_scatter;
}

CollectivePhase phase_of(Protocol protocol, const CollectiveCall& call, const GroupLinks& links,
                         const CommParameters& parameters) {
  if (call.op == CollectiveOp::broadcast) {
    CollectivePhase phase = ring_phase(protocol, links, parameters, 1, call.size, 0);
    phase.bytes = call.size;
    return phase;
  }
  return ring_phase(protocol, links, parameters, call.op == CollectiveOp::all_reduce ? 2 : 1,
                    call.size, own_part(call.op, links, parameters));
}

CollectiveCost ring_cost(const CollectiveCall& call, const GroupLinks& links,
                         const CommParameters& parameters) {
  const auto cost_of = [&](Protocol protocol) {
    return CollectiveCost{"ring", protocol, {phase_of(protocol, call, links, parameters)}};
  };
  if (call.op == CollectiveOp::broadcast && is_any_offered(broadcast_protocols, links, parameters))
    return cheapest(broadcast_protocols, call.protocol, links, parameters, cost_of);
  return cheapest(ring_protocols, call.protocol, links, parameters, cost_of);
}

}  // namespace

extern const CollectiveAlgorithm ring_algorithm;
const CollectiveAlgorithm ring_algorithm = {"ring", true, ring_serves, ring_cost};

}  // namespace foretoken
