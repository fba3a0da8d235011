// All-reduce in three phases over n nodes of k ranks: reduce-scatter inside each node, all-reduce
// of S/k between the ranks of one slot over their own rail, all-gather inside. A NIC carries 1/k of
// what the same rank's ring would, at three phases' latency.
#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/collective_phases.hpp"

namespace foretoken {
namespace {

bool hierarchical_serves(CollectiveOp op, const GroupLinks& links,
                         const CommParameters& parameters) {
  return op == CollectiveOp::all_reduce && links.nodes > 1 && links.ranks_per_node_max > 1 &&
         links.ranks_per_node_min == links.ranks_per_node_max &&
         is_any_offered(ring_protocols, links, parameters);
}

CollectiveCost hierarchical_cost(const CollectiveCall& call, const GroupLinks& links,
                                 const CommParameters& parameters) {
  const GroupLinks inner = links_within_node(links);
  const GroupLinks rail = links_of_rail(links);
  const OwnPart& own = parameters.inside.own_part;
  return cheapest(ring_protocols, call.protocol, links, parameters, [&](Protocol protocol) {
    CollectivePhase scatter =
        ring_phase(protocol, inner, parameters, 1, call.size, own.reduce_scatter);
    CollectivePhase reduce =
        ring_phase(protocol, rail, parameters, 2, call.size / links.ranks_per_node_max,
                   parameters.across.own_part.all_reduce);
    CollectivePhase gather = ring_phase(protocol, inner, parameters, 1, call.size, own.all_gather);
    reduce.pattern = TrafficPattern::rails;
    scatter.pattern = gather.pattern = TrafficPattern::ring_of_node;
    gather.latency -= launch_of(protocol, inner, parameters);  // the first phase's kernel goes on
    return CollectiveCost{"hierarchical", protocol, {scatter, reduce, gather}};
  });
}

}  // namespace

extern const CollectiveAlgorithm hierarchical_algorithm;
const CollectiveAlgorithm hierarchical_algorithm = {"hierarchical", false, hierarchical_serves,
                                                    hierarchical_cost};

}  // namespace foretoken
