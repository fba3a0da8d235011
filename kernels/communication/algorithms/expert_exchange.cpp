// Tokens to the ranks that hold their experts and back, as DeepEP's kernels move them. Every token
// has topk of E experts, evenly spread over n ranks on n/k nodes, of a few groups where its router
// is limited to them.
//   normal       A token crosses to each node that holds one of its experts once, over RDMA to the
//                GPU of the same slot, which forwards it over NVLink to each rank concerned. Both
//                hops overlap: the slower decides.
//   low_latency  A token is sent straight to each of its experts, topk messages in all: over NVLink
//                inside the node, by RDMA to others.
// Dispatch and combine move the same tokens in opposite directions, in different formats (fp8 with
// scales, then bf16): the caller's bytes.
#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/collective_phases.hpp"

namespace foretoken {
namespace {

Protocol protocol_of(CollectiveOp op, ExpertMode mode) {
  const bool is_dispatch = op == CollectiveOp::expert_dispatch;
  if (mode == ExpertMode::normal) return is_dispatch ? Protocol::dispatch : Protocol::combine;
  return is_dispatch ? Protocol::low_latency_dispatch : Protocol::low_latency_combine;
}

bool expert_exchange_serves(CollectiveOp op, const GroupLinks& links,
                            const CommParameters& parameters) {
  if (op != CollectiveOp::expert_dispatch && op != CollectiveOp::expert_combine) return false;
  return is_offered(protocol_of(op, ExpertMode::normal), links, parameters) &&
         is_offered(protocol_of(op, ExpertMode::low_latency), links, parameters);
}

/// How many of `sets` ranks or nodes a token goes to, on average.
double reached(double sets, const ExpertTraffic& experts) {
  return sets_visited(experts.experts, experts.topk, experts.groups, sets);
}

/// Copies of a token that a rank's links carry.
struct Copies {
  double inside = 0;  // to the ranks of a node, its own among them: SMs copy those too
  double across = 0;  // to other nodes
};

Copies copies_of(const ExpertTraffic& experts, const GroupLinks& links) {
  const double n = links.ranks;
  const double nodes = links.nodes;
  if (experts.mode == ExpertMode::normal) {
    return {reached(n, experts), reached(nodes, experts) * (nodes - 1) / nodes};
  }
  const double k = links.ranks_per_node_max;
  return {experts.topk * k / n, experts.topk * (n - k) / n};
}

CollectiveCost expert_exchange_cost(const CollectiveCall& call, const GroupLinks& links,
                                    const CommParameters& parameters) {
  FORETOKEN_CHECK(call.experts.topk >= 1 && call.experts.experts >= call.experts.topk,
                  "an exchange between {} experts, {} a token", call.experts.experts,
                  call.experts.topk);
  const Protocol protocol = protocol_of(call.op, call.experts.mode);
  const Copies copies = copies_of(call.experts, links);
  const double k = links.ranks_per_node_max;
  const bool has_inside = links.ranks_per_node_max > 1;
  const bool has_across = links.nodes > 1;
  // Counts are exchanged with every other node before tokens are (normal); else one message flies.
  const bool is_normal = call.experts.mode == ExpertMode::normal;
  const int across = !has_across ? 0 : is_normal ? links.nodes - 1 : 1;
  const int inside = has_inside && (is_normal || !has_across) ? 1 : 0;
  CollectivePhase phase;
  phase.steps = across + inside;
  phase.latency = launch_of(protocol, links, parameters) +
                  exchange_latency(protocol, links, parameters, inside, across);
  ExchangeBytes bytes{call.size * (copies.inside * (k - 1) / k), call.size * copies.across};
  if (has_inside) bytes.own = 1 / (k - 1);
  set_exchange(phase, protocol, bytes, links, parameters);
  return {"expert_exchange", protocol, {phase}};
}

}  // namespace

extern const CollectiveAlgorithm expert_exchange_algorithm;
const CollectiveAlgorithm expert_exchange_algorithm = {
    "expert_exchange", true, expert_exchange_serves, expert_exchange_cost};

}  // namespace foretoken
