// The links a group of GPUs communicates over when nobody else uses them. What a collective costs
// on them is collective_cost.hpp's; contention is sim/platform's.
#pragma once

#include <span>

#include "hardware/cluster.hpp"
#include "sim/base/ids.hpp"

namespace foretoken {

/// As the group's slowest ranks see them. A bandwidth is the rate at which a rank sends when the
/// fullest link of that traffic is full, per direction and with the cluster's efficiencies;
/// protocols reach a share of it. "0: …" says what a field that is not set means.
struct GroupLinks {
  int ranks = 1;
  int nodes = 1;
  int ranks_per_node_min = 1;
  int ranks_per_node_max = 1;

  // A ring over all ranks, node by node.
  Seconds inside_latency;           // of a hop between GPUs of one node
  Seconds across_latency;           // of a hop between nodes
  BytesPerSecond inside_bandwidth;  // hops inside nodes alone; 0: one rank a node
  BytesPerSecond node_bandwidth;    // hops between nodes alone, of a whole node; 0: one node
  BytesPerSecond bandwidth;         // all hops together; 0: the smaller of the two

  // Every rank to every other, in proportion to the ranks there are inside and outside its node.
  Seconds exchange_latency;           // 0: as a ring's hop
  BytesPerSecond exchange_inside;     // what stays alone; 0: as inside_bandwidth
  BytesPerSecond exchange_across;     // what leaves alone; 0: a node's bandwidth over its ranks
  BytesPerSecond exchange_bandwidth;  // both together; 0: the smaller of the two
  bool exchange_mixes = false;        // some link carries what stays and what leaves

  // Equal nodes: rings inside each, and rings of the ranks of one slot.
  BytesPerSecond node_ring_bandwidth;  // 0: as inside_bandwidth
  BytesPerSecond rail_bandwidth;       // 0: a node's bandwidth over its ranks

  // Nodes whose GPUs reach each other over wires or PCIe, whichever joins them.
  bool has_wires_and_pcie = false;
  bool takes_pcie = false;  // some hop of the ring inside a node does

  bool is_fully_connected = false;  // each rank reads every other's memory over wires of NVLink
  bool is_private = true;  // no link of the ring is shared with GPUs outside the group: memoisable
  friend bool operator==(const GroupLinks&, const GroupLinks&) = default;
};

/// `group` must not be empty (checked).
GroupLinks group_links(const ClusterSpec& cluster, std::span<const GpuId> group);

/// Of GPUs `from` that send alike to each of `to`, as a send of one of `from` that all others make
/// meanwhile: `bandwidth` is what it reaches. They count as private, whoever else is on them. The
/// groups must not be empty, and have no GPU in common (checked).
GroupLinks links_between(const ClusterSpec& cluster, std::span<const GpuId> from,
                         std::span<const GpuId> to);

}  // namespace foretoken
