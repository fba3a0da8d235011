// NCCL's grouped send/recv: all-to-all and single sends. Inside a node all peers are served at once
// by different channels; between nodes NCCL goes through the other nodes one after the other. A
// single send has protocols of its own; where a fabric names none, an exchange's stand for them.
#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/collective_phases.hpp"

namespace foretoken {
namespace {

bool direct_serves(CollectiveOp op, const GroupLinks& links, const CommParameters& parameters) {
  if (op == CollectiveOp::send_recv && is_any_offered(send_protocols, links, parameters))
    return true;
  const bool is_known = op == CollectiveOp::all_to_all || op == CollectiveOp::send_recv;
  return is_known && is_any_offered(direct_protocols, links, parameters);
}

CollectivePhase exchange_phase(Protocol protocol, Bytes size, const GroupLinks& links,
                               const CommParameters& parameters) {
  const double n = links.ranks;
  const double k = links.ranks_per_node_max;
  const bool is_inside = links.nodes == 1;
  CollectivePhase phase;
  phase.steps = is_inside ? 1 : links.nodes - 1;
  phase.latency =
      launch_of(protocol, links, parameters) +
      exchange_latency(protocol, links, parameters, is_inside ? 1 : 0, is_inside ? 0 : phase.steps);
  // Of n parts one is the rank's own, k-1 stay in the node, n-k leave it.
  ExchangeBytes bytes{size * ((k - 1) / n), size * ((n - k) / n)};
  if (k > 1) bytes.own = parameters.inside.own_part.all_to_all / (k - 1);
  set_exchange(phase, protocol, bytes, links, parameters);
  return phase;
}

CollectivePhase send_phase(Protocol protocol, Bytes size, const GroupLinks& links,
                           const CommParameters& parameters) {
  const bool is_inside = links.nodes == 1;
  CollectivePhase phase;
  phase.pattern = TrafficPattern::pair;
  phase.latency = launch_of(protocol, links, parameters) +
                  hop_latency(protocol, links, parameters, is_inside ? 1 : 0, is_inside ? 0 : 1);
  phase.bytes = size;
  phase.rate = ring_rate(protocol, links, parameters);
  return phase;
}

CollectiveCost direct_cost(const CollectiveCall& call, const GroupLinks& links,
                           const CommParameters& parameters) {
  const bool is_send = call.op == CollectiveOp::send_recv;
  const bool has_own = is_send && is_any_offered(send_protocols, links, parameters);
  return cheapest(has_own ? send_protocols : direct_protocols, call.protocol, links, parameters,
                  [&](Protocol protocol) {
                    const auto phase = is_send
                                           ? send_phase(protocol, call.size, links, parameters)
                                           : exchange_phase(protocol, call.size, links, parameters);
                    return CollectiveCost{"direct", protocol, {phase}};
                  });
}

}  // namespace

extern const CollectiveAlgorithm direct_algorithm;
const CollectiveAlgorithm direct_algorithm = {"direct", true, direct_serves, direct_cost};

}  // namespace foretoken
