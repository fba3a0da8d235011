// The links of a group, from what it sends over which of them (group_traffic.hpp): the rate at
// which the fullest link is full while nobody else sends. Assumptions:
// - Ranks step together, so the slowest hop decides for all.
// - GPUs outside the group lend none of their NICs (rails follow the GPUs they are next to).
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/collectives.hpp"
#include "kernels/group_traffic.hpp"

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
  const auto gpus = static_cast<std::uint32_t>(wiring.cluster().node.gpus);
  std::vector<bool> members(gpus, false);
  for (const GpuId gpu : group) members[gpu.value % gpus] = true;
  return std::ranges::none_of(shares, [&](const TrafficShare& share) {
    return std::ranges::any_of(share.route,
                               [&](LinkIndex link) { return wiring.is_shared(link, members); });
  });
}

}  // namespace

GroupLinks group_links(const ClusterSpec& cluster, std::span<const GpuId> group) {
  FORETOKEN_CHECK(!group.empty(), "a group of no GPUs");
  const Wiring wiring(cluster);
  const GroupTraffic ring = ring_traffic(wiring, group);
  const Spread spread = spread_of(cluster, group);
  GroupLinks links;
  links.ranks = static_cast<int>(group.size());
  links.nodes = spread.nodes;
  links.ranks_per_node_min = spread.ranks_min;
  links.ranks_per_node_max = spread.ranks_max;
  if (links.ranks == 1) return links;
  links.latency = ring.latency;
  links.bandwidth = full_rate(wiring, ring.shares);
  links.is_private = links.nodes == 1 && are_private(wiring, group, ring.shares);
  const GroupTraffic exchange = exchange_traffic(wiring, group);
  const BytesPerSecond exchange_rate = full_rate(wiring, exchange.shares);
  if (exchange_rate != links.bandwidth) links.exchange_bandwidth = exchange_rate;
  if (exchange.latency != links.latency) links.exchange_latency = exchange.latency;
  return links;
}

}  // namespace foretoken
