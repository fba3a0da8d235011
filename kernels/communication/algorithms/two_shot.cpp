// The all-reduce of serving frameworks for medium messages: every rank reads and adds its n-th part
// of all buffers, then reads the others' sums. Two steps, a ring's bytes.
#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/collective_phases.hpp"

namespace foretoken {
namespace {

bool two_shot_serves(CollectiveOp op, const GroupLinks& links, const CommParameters& parameters) {
  return op == CollectiveOp::all_reduce && links.nodes == 1 &&
         (links.is_fully_connected || links.ranks == 2) &&
         is_offered(Protocol::two_shot, links, parameters);
}

CollectiveCost two_shot_cost(const CollectiveCall& call, const GroupLinks& links,
                             const CommParameters& parameters) {
  CollectivePhase phase;
  phase.steps = 2;
  phase.latency = launch_of(Protocol::two_shot, links, parameters) +
                  hop_latency(Protocol::two_shot, links, parameters, 2, 0);
  const Bytes read = call.size * (2.0 * (links.ranks - 1) / links.ranks);
  set_exchange(phase, Protocol::two_shot, {read, Bytes(0)}, links, parameters);
  return {"two_shot", Protocol::two_shot, {phase}};
}

}  // namespace

extern const CollectiveAlgorithm two_shot_algorithm;
const CollectiveAlgorithm two_shot_algorithm = {"two_shot", false, two_shot_serves, two_shot_cost};

}  // namespace foretoken
