// NCCL's double binary tree between nodes, a chain inside each: fewer steps than a ring once there
// are many nodes. Data goes up reduced and comes down again; two complementary trees halve the load
// of inner nodes, so a rank sends about what it does in a ring.
#include <bit>

#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/collective_phases.hpp"

namespace foretoken {
namespace {

/// Trees reach a little less bandwidth than rings: factor in NCCL's tuning model (tuning.cc).
constexpr double tree_share = 0.92;

bool tree_serves(CollectiveOp op, const GroupLinks& links, const CommParameters& parameters) {
  return op == CollectiveOp::all_reduce && links.nodes > 1 &&
         is_any_offered(ring_protocols, links, parameters);
}

/// At which a node sends what it gets while its chains move twice as much.
BytesPerSecond pair_rate(Protocol protocol, const GroupLinks& links,
                         const CommParameters& parameters) {
  const BytesPerSecond across = links.node_bandwidth * parameters.across.of(protocol).share;
  if (links.ranks_per_node_max == 1) return across;
  return std::min(across, links.inside_bandwidth * (parameters.inside.of(protocol).share / 2));
}

CollectiveCost tree_cost(const CollectiveCall& call, const GroupLinks& links,
                         const CommParameters& parameters) {
  const int depth = std::bit_width(static_cast<unsigned>(links.nodes - 1));  // ceil(log2 nodes)
  return cheapest(ring_protocols, call.protocol, links, parameters, [&](Protocol protocol) {
    const int inside = 2 * (links.ranks_per_node_max - 1);
    CollectivePhase phase;
    phase.steps = inside + 2 * depth;
    phase.latency = launch_of(protocol, links, parameters) +
                    hop_latency(protocol, links, parameters, inside, 2 * depth);
    // Of two nodes each is the root of one tree and the leaf of the other: what the network carries
    // once each way, chains inside carry up and down.
    const bool is_pair = links.nodes == 2;
    phase.bytes = is_pair ? call.size : call.size * (2.0 * (links.ranks - 1) / links.ranks);
    phase.rate = (is_pair ? pair_rate(protocol, links, parameters)
                          : ring_rate(protocol, links, parameters)) *
                 tree_share;
    return CollectiveCost{"tree", protocol, {phase}};
  });
}

}  // namespace

extern const CollectiveAlgorithm tree_algorithm;
const CollectiveAlgorithm tree_algorithm = {"tree", true, tree_serves, tree_cost};

}  // namespace foretoken
