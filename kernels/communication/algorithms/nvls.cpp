// NVLink SHARP: the switch adds. Each rank owns one n-th of the result: its loads make the switch
// fetch and sum that part from all ranks, its stores are multicast back. A port carries the rank's
// whole buffer once and its own part's result.
#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/collective_phases.hpp"

namespace foretoken {
namespace {

bool nvls_serves(CollectiveOp op, const GroupLinks& links, const CommParameters& parameters) {
  return op == CollectiveOp::all_reduce && links.nodes == 1 && links.is_fully_connected &&
         is_offered(Protocol::nvls, links, parameters);
}

CollectiveCost nvls_cost(const CollectiveCall& call, const GroupLinks& links,
                         const CommParameters& parameters) {
  CollectivePhase phase;
  phase.steps = 2;
  phase.latency = launch_of(Protocol::nvls, links, parameters) +
                  hop_latency(Protocol::nvls, links, parameters, 2, 0);
  phase.bytes = call.size * (1 + 1.0 / links.ranks);
  phase.rate = ring_rate(Protocol::nvls, links, parameters);
  return {"nvls", Protocol::nvls, {phase}};
}

}  // namespace

extern const CollectiveAlgorithm nvls_algorithm;
const CollectiveAlgorithm nvls_algorithm = {"nvls", true, nvls_serves, nvls_cost};

}  // namespace foretoken
