// What a group of GPUs sends over which links in one step of a ring, of an exchange or of a send:
// the one description that both the closed forms (collectives.hpp) and sim/platform's flows are
// made of, so that they agree where nobody else uses the links. It knows neither bytes nor time: a
// share of 1 is what one rank sends in a step. What would take a network card that is down takes
// another of the node, and at the other end its like.
#pragma once

#include <span>
#include <vector>

#include "hardware/wiring.hpp"
#include "sim/base/ids.hpp"

namespace foretoken {

struct TrafficShare {
  Route route;
  double share = 1;
  bool is_across = false;  // leaves the node
};

struct GroupTraffic {
  std::vector<TrafficShare> shares;
  Seconds latency;                         // of the slowest way taken
  Seconds inside_latency, across_latency;  // of the slowest inside a node, and between nodes
};

/// Every rank sends to the next, node by node, and the last to the first. In a node of pairwise
/// wires that join the group without others' help, a rank's share is spread over all its wires to
/// the group (the library runs as many rings as it takes to use them). Between nodes it is striped
/// over the NICs next to the group's GPUs (a ring a rail). No GPU may be in `group` twice
/// (checked).
GroupTraffic ring_traffic(const Wiring& wiring, std::span<const GpuId> group);

/// A ring in every node of its own.
GroupTraffic node_ring_traffic(const Wiring& wiring, std::span<const GpuId> group);

/// Every rank sends to its like on the next node, over the NICs next to it.
GroupTraffic rail_traffic(const Wiring& wiring, std::span<const GpuId> group);

/// Every rank sends to every other. Between nodes of a fabric without links of its own, to the next
/// node only: its NICs are as busy. Else to all others, of which eight stand for more, near and far
/// as the others are; and where that makes too many flows, each rank of a node to some of the
/// eight.
GroupTraffic exchange_traffic(const Wiring& wiring, std::span<const GpuId> group);

GroupTraffic send_traffic(const Wiring& wiring, GpuId from, GpuId to);

/// Each of `from` sends alike to each of `to` (M to N); where that makes too many flows, to some of
/// them. No GPU may be in both (checked).
GroupTraffic spread_traffic(const Wiring& wiring, std::span<const GpuId> from,
                            std::span<const GpuId> to);

/// Only what stays inside nodes, or only what leaves them.
std::vector<TrafficShare> shares_of(const GroupTraffic& traffic, bool is_across);

/// The rate of a share of 1 at which the fullest link is full; infinite if there is no traffic.
BytesPerSecond full_rate(const Wiring& wiring, std::span<const TrafficShare> shares);

}  // namespace foretoken
