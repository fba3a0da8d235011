// The links of a group, from what it sends over which of them (group_traffic.hpp): the rate at
// which the fullest link is full while nobody else sends. Assumptions:
// - Ranks step together, so the slowest hop decides for all.
// - GPUs outside the group lend none of their NICs (rails follow the GPUs they are next to).
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/communication/collectives.hpp"
#include "kernels/communication/group_traffic.hpp"

namespace foretoken {
namespace {

struct Spread {
  int nodes = 0;
  int ranks_min = 0;  // on a node that has any
  int ranks_max = 0;
};

Spread spread_of(const ClusterSpec& cluster, std::span<const GpuId> group) {
  std::vector<int> nodes;
  for (const GpuId gpu : group) nodes.push_back(cluster.node_of(gpu));
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
  return spread;
}

/// Whether no GPU outside `group`, which stands on one node, uses the links of `shares`.
bool are_private(const Wiring& wiring, std::span<const GpuId> group,
                 std::span<const TrafficShare> shares) {
  const ClusterSpec& cluster = wiring.cluster();
  const int gpus = cluster.node_at(cluster.node_of(group.front())).gpus;
  std::vector<bool> members(static_cast<std::size_t>(gpus), false);
  for (const GpuId gpu : group) members[static_cast<std::size_t>(wiring.slot_of(gpu))] = true;
  return std::ranges::none_of(shares, [&](const TrafficShare& share) {
    return std::ranges::any_of(share.route,
                               [&](LinkIndex link) { return wiring.is_shared(link, members); });
  });
}

/// Whether every two of `group`, which stands on one node, are joined by NVLink or the like.
bool are_fully_connected(const Wiring& wiring, std::span<const GpuId> group) {
  const int number = wiring.cluster().node_of(group.front());
  const NodeSpec& node = wiring.cluster().node_at(number);
  if (node.link != NodeLink::pairwise) return node.link == NodeLink::nvswitch;
  for (const GpuId a : group)
    for (const GpuId b : group)
      if (a != b && wiring.node_at(number).wires(wiring.slot_of(a), wiring.slot_of(b)) == 0)
        return false;
  return true;
}

/// Whether GPUs that follow each other in the ring talk over PCIe inside some node.
bool takes_pcie(const Wiring& wiring, std::span<const GpuId> group) {
  const ClusterSpec& cluster = wiring.cluster();
  std::vector<GpuId> ring(group.begin(), group.end());
  std::ranges::sort(ring);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const GpuId from = ring[i], to = ring[(i + 1) % ring.size()];
    const int node = cluster.node_of(from);
    if (from != to && node == cluster.node_of(to) &&
        wiring.node_at(node).way(wiring.slot_of(from), wiring.slot_of(to)) > NodeWiring::Way::relay)
      return true;
  }
  return false;
}

bool have_common_link(std::span<const TrafficShare> a, std::span<const TrafficShare> b) {
  std::vector<LinkIndex> links;
  for (const TrafficShare& share : a)
    links.insert(links.end(), share.route.begin(), share.route.end());
  std::ranges::sort(links);
  return std::ranges::any_of(b, [&](const TrafficShare& share) {
    return std::ranges::any_of(
        share.route, [&](LinkIndex link) { return std::ranges::binary_search(links, link); });
  });
}

/// As full_rate(); 0 if there is no traffic.
BytesPerSecond rate_of(const Wiring& wiring, const std::vector<TrafficShare>& shares) {
  return shares.empty() ? BytesPerSecond(0) : full_rate(wiring, shares);
}

void read_ring(const Wiring& wiring, std::span<const GpuId> group, GroupLinks& links) {
  const GroupTraffic ring = ring_traffic(wiring, group);
  links.inside_latency = ring.inside_latency;
  links.across_latency = ring.across_latency;
  links.inside_bandwidth = rate_of(wiring, shares_of(ring, false));
  links.node_bandwidth = rate_of(wiring, shares_of(ring, true));
  links.bandwidth = full_rate(wiring, ring.shares);
  links.is_private = links.nodes == 1 && are_private(wiring, group, ring.shares);
}

void read_exchange(const Wiring& wiring, std::span<const GpuId> group, GroupLinks& links) {
  const GroupTraffic exchange = exchange_traffic(wiring, group);
  const std::vector<TrafficShare> inside = shares_of(exchange, false);
  const std::vector<TrafficShare> across = shares_of(exchange, true);
  links.exchange_latency = exchange.latency;
  links.exchange_inside = rate_of(wiring, inside);
  links.exchange_across = rate_of(wiring, across);
  links.exchange_bandwidth = full_rate(wiring, exchange.shares);
  links.exchange_mixes = have_common_link(inside, across);
}

}  // namespace

GroupLinks group_links(const ClusterSpec& cluster, std::span<const GpuId> group) {
  FORETOKEN_CHECK(!group.empty(), "a group of no GPUs");
  for (const GpuId gpu : group)
    FORETOKEN_CHECK(gpu.value < static_cast<std::uint32_t>(cluster.gpu_count()),
                    "GPU {} of a cluster of {}", gpu.value, cluster.gpu_count());
  const Wiring wiring(cluster);
  const Spread spread = spread_of(cluster, group);
  GroupLinks links;
  links.ranks = static_cast<int>(group.size());
  links.nodes = spread.nodes;
  links.ranks_per_node_min = spread.ranks_min;
  links.ranks_per_node_max = spread.ranks_max;
  if (links.ranks == 1) return links;
  read_ring(wiring, group, links);
  read_exchange(wiring, group, links);
  const NodeSpec& node = cluster.node_at(cluster.node_of(group.front()));
  if (node.link == NodeLink::pairwise && node.pcie_bandwidth > BytesPerSecond(0)) {
    links.has_wires_and_pcie = true;
    links.takes_pcie = takes_pcie(wiring, group);
  }
  if (links.nodes == 1) {
    links.is_fully_connected = are_fully_connected(wiring, group);
  } else if (spread.ranks_min == spread.ranks_max && spread.ranks_max > 1) {
    links.node_ring_bandwidth = full_rate(wiring, node_ring_traffic(wiring, group).shares);
    links.rail_bandwidth = full_rate(wiring, rail_traffic(wiring, group).shares);
  }
  return links;
}

GroupLinks links_between(const ClusterSpec& cluster, std::span<const GpuId> from,
                         std::span<const GpuId> to) {
  FORETOKEN_CHECK(!from.empty() && !to.empty(), "{} GPUs that send to {}", from.size(), to.size());
  const Wiring wiring(cluster);
  const GroupTraffic traffic = spread_traffic(wiring, from, to);
  const std::vector<TrafficShare> across = shares_of(traffic, true);
  GroupLinks links;
  links.ranks = 2;
  links.nodes = across.empty() ? 1 : 2;
  links.ranks_per_node_min = links.ranks_per_node_max = across.empty() ? 2 : 1;
  links.inside_latency = traffic.inside_latency;
  links.across_latency = traffic.across_latency;
  links.inside_bandwidth = rate_of(wiring, shares_of(traffic, false));
  links.node_bandwidth = rate_of(wiring, across);
  links.bandwidth = full_rate(wiring, traffic.shares);
  return links;
}

}  // namespace foretoken
