// What several algorithms are made of: the passes of a ring over the group, and the choice among
// protocols. Internal to algorithms/.
#pragma once

#include <algorithm>
#include <span>

#include "kernels/communication/collective_cost.hpp"

namespace foretoken {

inline constexpr std::array ring_protocols = {Protocol::ll, Protocol::ll128, Protocol::simple};
inline constexpr std::array direct_protocols = {Protocol::direct_ll, Protocol::direct};
inline constexpr std::array send_protocols = {Protocol::send_ll, Protocol::send};
inline constexpr std::array broadcast_protocols = {Protocol::broadcast_ll, Protocol::broadcast};

/// Whether every fabric that the group's links cross offers the protocol.
bool is_offered(Protocol protocol, const GroupLinks& links, const CommParameters& parameters);

template <std::size_t count>
bool is_any_offered(const std::array<Protocol, count>& protocols, const GroupLinks& links,
                    const CommParameters& parameters) {
  return std::ranges::any_of(
      protocols, [&](Protocol protocol) { return is_offered(protocol, links, parameters); });
}

/// Whether a protocol is the one that is asked for.
bool is_asked_for(NcclProtocol asked, Protocol protocol);

/// The cheapest of `protocols` that are offered and, if any of these is, asked for; `cost_of`
/// prices one.
template <std::size_t count, class CostOf>
CollectiveCost cheapest(const std::array<Protocol, count>& protocols, NcclProtocol asked,
                        const GroupLinks& links, const CommParameters& parameters, CostOf cost_of) {
  const bool has_asked = std::ranges::any_of(protocols, [&](Protocol protocol) {
    return is_asked_for(asked, protocol) && is_offered(protocol, links, parameters);
  });
  CollectiveCost best;
  for (const Protocol protocol : protocols) {
    if (!is_offered(protocol, links, parameters)) continue;
    if (has_asked && !is_asked_for(asked, protocol)) continue;
    CollectiveCost cost = cost_of(protocol);
    if (best.phases.empty() || cost.time() < best.time()) best = std::move(cost);
  }
  FORETOKEN_CHECK(!best.phases.empty(), "a collective of {} ranks without a protocol", links.ranks);
  return best;
}

/// A kernel's start: it spans both fabrics where there are two.
Seconds launch_of(Protocol protocol, const GroupLinks& links, const CommParameters& parameters);

/// `inside` hops between GPUs of a node and `across` hops between nodes, one after the other.
Seconds hop_latency(Protocol protocol, const GroupLinks& links, const CommParameters& parameters,
                    int inside, int across);

/// Rate per rank at which a ring moves data: its slowest hop's.
BytesPerSecond ring_rate(Protocol protocol, const GroupLinks& links,
                         const CommParameters& parameters);

/// `passes` times round a ring of n ranks with S bytes, n-1 steps each, in which a rank sends
/// passes S (n-1)/n, and its own part of passes S/n goes through its SMs at `own` of the cost.
CollectivePhase ring_phase(Protocol protocol, const GroupLinks& links,
                           const CommParameters& parameters, int passes, Bytes size, double own);

/// What a rank sends in an exchange: bytes that stay in its node, bytes that leave it, and `own`,
/// what its SMs copy besides, as a share of those that stay.
struct ExchangeBytes {
  Bytes inside, across;
  double own = 0;
};

/// Bytes and rate of the phase; the latency is the caller's.
void set_exchange(CollectivePhase& phase, Protocol protocol, const ExchangeBytes& bytes,
                  const GroupLinks& links, const CommParameters& parameters);

/// Latency of hops to all others, `across` rounds between nodes one after the other.
Seconds exchange_latency(Protocol protocol, const GroupLinks& links,
                         const CommParameters& parameters, int inside, int across);

/// Links of the group's ranks on one node alone, and between one rank of each node alone.
GroupLinks links_within_node(const GroupLinks& links);
GroupLinks links_of_rail(const GroupLinks& links);

}  // namespace foretoken
