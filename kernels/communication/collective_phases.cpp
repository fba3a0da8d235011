#include "kernels/communication/collective_phases.hpp"

#include <limits>

namespace foretoken {

bool is_offered(Protocol protocol, const GroupLinks& links, const CommParameters& parameters) {
  const bool inside = links.ranks_per_node_max == 1 || parameters.inside.of(protocol).share > 0;
  const bool across = links.nodes == 1 || parameters.across.of(protocol).share > 0;
  return inside && across;
}

bool is_asked_for(NcclProtocol asked, Protocol protocol) {
  switch (asked) {
    case NcclProtocol::automatic:
      return true;
    case NcclProtocol::ll:
      return protocol == Protocol::ll || protocol == Protocol::direct_ll ||
             protocol == Protocol::send_ll || protocol == Protocol::broadcast_ll;
    case NcclProtocol::ll128:
      return protocol == Protocol::ll128;
    case NcclProtocol::simple:
      break;
  }
  return protocol == Protocol::simple || protocol == Protocol::direct ||
         protocol == Protocol::send || protocol == Protocol::broadcast;
}

Seconds launch_of(Protocol protocol, const GroupLinks& links, const CommParameters& parameters) {
  Seconds launch;
  if (links.ranks_per_node_max > 1) launch = parameters.inside.of(protocol).launch;
  if (links.nodes > 1) launch = std::max(launch, parameters.across.of(protocol).launch);
  return launch;
}

Seconds hop_latency(Protocol protocol, const GroupLinks& links, const CommParameters& parameters,
                    int inside, int across) {
  return inside * (links.inside_latency + parameters.inside.of(protocol).step) +
         across * (links.across_latency + parameters.across.of(protocol).step);
}

BytesPerSecond ring_rate(Protocol protocol, const GroupLinks& links,
                         const CommParameters& parameters) {
  BytesPerSecond rate(std::numeric_limits<double>::infinity());
  if (links.ranks_per_node_max > 1)
    rate = links.inside_bandwidth * parameters.inside.of(protocol).share;
  if (links.nodes > 1)
    rate = std::min(rate, links.node_bandwidth * parameters.across.of(protocol).share);
  return links.bandwidth.value() > 0 ? std::min(rate, links.bandwidth) : rate;
}

CollectivePhase ring_phase(Protocol protocol, const GroupLinks& links,
                           const CommParameters& parameters, int passes, Bytes size, double own) {
  const int n = links.ranks;
  const int steps = passes * (n - 1);
  // A chunk goes all the way round: of n hops, as many cross as there are nodes.
  const int across = links.nodes == 1 ? 0 : (steps * links.nodes + n - 1) / n;
  CollectivePhase phase;
  phase.steps = steps;
  phase.latency = launch_of(protocol, links, parameters) +
                  hop_latency(protocol, links, parameters, steps - across, across);
  phase.bytes = size * (static_cast<double>(steps) / n);
  phase.rate = ring_rate(protocol, links, parameters) * ((n - 1) / (n - 1 + own));
  return phase;
}

void set_exchange(CollectivePhase& phase, Protocol protocol, const ExchangeBytes& bytes,
                  const GroupLinks& links, const CommParameters& parameters) {
  const auto or_else = [](BytesPerSecond rate, BytesPerSecond otherwise) {
    return rate.value() > 0 ? rate : otherwise;
  };
  // Rates are of all that a rank sends if its bytes were spread evenly over the others: of what
  // stays and of what leaves they are shares.
  const double others = links.ranks - 1;
  const double k = links.ranks_per_node_max;
  Seconds inside, across, transfer;
  phase.pattern = TrafficPattern::exchange;
  phase.bytes = bytes.inside + bytes.across;
  if (phase.bytes.value() <= 0) return;
  phase.inside_share = bytes.inside / phase.bytes;
  if (bytes.inside.value() > 0) {
    inside = bytes.inside * (others / (k - 1)) /
             or_else(links.exchange_inside, links.inside_bandwidth * (others / (k - 1)));
    transfer = inside * ((1 + bytes.own) / parameters.inside.of(protocol).share);
  }
  if (bytes.across.value() > 0) {
    const double leaving = others / (links.ranks - k);
    across = bytes.across * leaving /
             or_else(links.exchange_across, links.node_bandwidth * (leaving / k));
    transfer = std::max(transfer, across / parameters.across.of(protocol).share);
  }
  // Where both take the same wires (PCIe), those carry the sum.
  transfer = std::max(transfer, links.exchange_mixes ? inside + across : std::max(inside, across));
  phase.rate = BytesPerSecond(phase.bytes.value() / transfer.value());
}

Seconds exchange_latency(Protocol protocol, const GroupLinks& links,
                         const CommParameters& parameters, int inside, int across) {
  GroupLinks far = links;
  if (links.exchange_latency.value() > 0) {
    far.inside_latency = std::min(links.exchange_latency, links.inside_latency);
    far.across_latency = links.exchange_latency;
    if (links.nodes == 1) far.inside_latency = links.exchange_latency;
  }
  return hop_latency(protocol, far, parameters, inside, across);
}

GroupLinks links_within_node(const GroupLinks& links) {
  GroupLinks inner = links;
  inner.ranks = links.ranks_per_node_max;
  inner.nodes = 1;
  inner.bandwidth = {};
  if (links.node_ring_bandwidth.value() > 0) inner.inside_bandwidth = links.node_ring_bandwidth;
  return inner;
}

GroupLinks links_of_rail(const GroupLinks& links) {
  GroupLinks rail = links;
  rail.ranks = links.nodes;
  rail.ranks_per_node_min = rail.ranks_per_node_max = 1;
  rail.bandwidth = {};
  rail.node_bandwidth = links.rail_bandwidth.value() > 0
                            ? links.rail_bandwidth
                            : links.node_bandwidth / static_cast<double>(links.ranks_per_node_max);
  return rail;
}

}  // namespace foretoken
