// Links of a group, and closed forms of collectives over them. Assumptions:
// - A ring visits the ranks node by node, so it crosses each node boundary once a direction.
// - NVSwitch gives every GPU its full rate to any other; a PCIe host bridge is shared by all ranks
//   of the group on that node, each of which sends to a neighbour all the time.
// - With several NICs NCCL builds a ring a rail and splits the message over them, so a node's NICs
//   add up; GPUs outside the group lend none of theirs (rails follow the GPUs they are next to).
// - PCIe between a GPU and its NIC is not the limit: chassis pair NICs with the generation of PCIe
//   that carries them.
#include "kernels/collectives.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace foretoken {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Where the group stands: how many of its ranks are on the node that has most and fewest.
struct Spread {
  int nodes = 0;
  int ranks_min = 0;  // on a node that has any
  int ranks_max = 0;
  bool one_leaf = true;  // all nodes on one leaf switch of a fat tree
};

Spread spread_of(const ClusterSpec& cluster, std::span<const GpuId> group) {
  std::vector<int> nodes;
  for (const GpuId gpu : group) {
    FORETOKEN_CHECK(gpu.value < static_cast<std::uint32_t>(cluster.gpu_count()),
                    "GPU {} of a cluster of {}", gpu.value, cluster.gpu_count());
    nodes.push_back(cluster.node_of(gpu));
  }
  std::ranges::sort(nodes);
  Spread spread;
  spread.ranks_min = static_cast<int>(nodes.size());
  for (auto first = nodes.begin(); first != nodes.end();) {
    const auto next = std::upper_bound(first, nodes.end(), *first);
    const int ranks = static_cast<int>(next - first);
    spread.nodes += 1;
    spread.ranks_min = std::min(spread.ranks_min, ranks);
    spread.ranks_max = std::max(spread.ranks_max, ranks);
    first = next;
  }
  const int leaf = cluster.fabric.nodes_per_leaf;
  spread.one_leaf = leaf <= 0 || nodes.front() / leaf == nodes.back() / leaf;
  return spread;
}

/// Rate at which each of `ranks` GPUs of one node sends to another of them.
double node_bandwidth(const NodeSpec& node, int ranks) {
  if (ranks < 2) return unlimited;  // no hop inside the node
  double bandwidth = node.link_bandwidth.value() * node.link_efficiency;
  if (node.link == NodeLink::pcie && node.host_bandwidth.value() > 0) {
    bandwidth = std::min(bandwidth, node.host_bandwidth.value() / ranks);
  }
  return bandwidth;
}

/// Rate at which `ranks` GPUs of one node send to another node, all together.
double boundary_bandwidth(const ClusterSpec& cluster, const Spread& spread) {
  const NodeSpec& node = cluster.node;
  // A GPU reaches the NICs next to it: its share of them, and at least one.
  const int rails = std::min(node.nics, spread.ranks_min * std::max(1, node.nics / node.gpus));
  const double nic = node.nic_bandwidth.value() * node.nic_efficiency;
  double bandwidth = rails * nic;
  if (cluster.fabric.kind == FabricKind::fat_tree && !spread.one_leaf) {
    // Alone on the fabric, one ring crosses a leaf's uplinks once a direction: it may use them all.
    const double uplinks =
        cluster.fabric.nodes_per_leaf * node.nics * nic / cluster.fabric.oversubscription;
    bandwidth = std::min(bandwidth, uplinks);
  }
  return bandwidth;
}

GroupLinks links_inside_node(const NodeSpec& node, int ranks) {
  GroupLinks links;
  links.ranks = ranks;
  if (ranks == 1) return links;
  links.latency = node.link_latency;
  links.bandwidth = BytesPerSecond(node_bandwidth(node, ranks));
  const bool bridge_limits = node.link == NodeLink::pcie && node.host_bandwidth.value() > 0;
  links.is_private = !bridge_limits || ranks == node.gpus;
  return links;
}

GroupLinks links_across_nodes(const ClusterSpec& cluster, const Spread& spread, int ranks) {
  const double inside = node_bandwidth(cluster.node, spread.ranks_max);
  const double boundary = boundary_bandwidth(cluster, spread);
  GroupLinks links;
  links.ranks = ranks;
  links.nodes = spread.nodes;
  // Ranks step together, so the slowest hop decides.
  links.latency = spread.ranks_max > 1 ? std::max(cluster.node.link_latency, cluster.fabric.latency)
                                       : cluster.fabric.latency;
  links.bandwidth = BytesPerSecond(std::min(inside, boundary));
  // In an exchange each of a node's k ranks sends n-k of its n-1 messages through the boundary.
  const double leaving =
      spread.ranks_max * static_cast<double>(ranks - spread.ranks_max) / (ranks - 1);
  links.exchange_bandwidth = BytesPerSecond(std::min(inside, boundary / leaving));
  links.is_private = false;  // other groups of these nodes use the same NICs
  return links;
}

}  // namespace

GroupLinks group_links(const ClusterSpec& cluster, std::span<const GpuId> group) {
  FORETOKEN_CHECK(!group.empty(), "a group of no GPUs");
  const Spread spread = spread_of(cluster, group);
  const int ranks = static_cast<int>(group.size());
  return spread.nodes == 1 ? links_inside_node(cluster.node, ranks)
                           : links_across_nodes(cluster, spread, ranks);
}

Seconds collective_time(CollectiveOp op, const GroupLinks& links, Bytes size) {
  if (links.ranks <= 1) return Seconds(0);
  FORETOKEN_CHECK(links.bandwidth.value() > 0, "{} ranks on {} nodes without bandwidth",
                  links.ranks, links.nodes);
  const double steps = links.ranks - 1;
  const Bytes chunk = size / static_cast<double>(links.ranks);
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2 * steps * (links.latency + chunk / links.bandwidth);
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      return steps * (links.latency + chunk / links.bandwidth);
    case CollectiveOp::all_to_all: {
      const bool own_rate = links.exchange_bandwidth.value() > 0;
      return steps *
             (links.latency + chunk / (own_rate ? links.exchange_bandwidth : links.bandwidth));
    }
    case CollectiveOp::send_recv:
      break;
  }
  return links.latency + size / links.bandwidth;
}

}  // namespace foretoken
