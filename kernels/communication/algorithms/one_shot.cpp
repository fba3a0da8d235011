// The all-reduce of serving frameworks for small messages: every rank reads every other's whole
// buffer over NVLink and adds it up itself. One step, (n-1) S bytes.
#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/collective_phases.hpp"

namespace foretoken {
namespace {

bool one_shot_serves(CollectiveOp op, const GroupLinks& links, const CommParameters& parameters) {
  return op == CollectiveOp::all_reduce && links.nodes == 1 &&
         (links.is_fully_connected || links.ranks == 2) &&
         is_offered(Protocol::one_shot, links, parameters);
}

CollectiveCost one_shot_cost(const CollectiveCall& call, const GroupLinks& links,
                             const CommParameters& parameters) {
  CollectivePhase phase;
  phase.steps = 1;
  phase.latency = launch_of(Protocol::one_shot, links, parameters) +
                  hop_latency(Protocol::one_shot, links, parameters, 1, 0);
  const Bytes read = call.size * static_cast<double>(links.ranks - 1);
  set_exchange(phase, Protocol::one_shot, {read, Bytes(0)}, links, parameters);
  return {"one_shot", Protocol::one_shot, {phase}};
}

}  // namespace

extern const CollectiveAlgorithm one_shot_algorithm;
const CollectiveAlgorithm one_shot_algorithm = {"one_shot", false, one_shot_serves, one_shot_cost};

}  // namespace foretoken
