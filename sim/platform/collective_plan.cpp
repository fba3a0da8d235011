// Rings visit the ranks node by node, each rank sending S/n to the next in every step; between
// nodes a ring's data is striped over the NICs next to the group's GPUs (NCCL's ring a rail). An
// exchange (all_to_all) goes round two kinds of rings: inside each node, and from node to node,
// where all of a node's ranks leave it at once. That loads ports and NICs as the n(n-1) pairs
// would, with n to 2n flows.
#include "sim/platform/collective_plan.hpp"

#include <algorithm>

#include "kernels/collectives.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// The ranks of a group on one node, and the NICs over which they leave it.
struct NodeGroup {
  std::vector<GpuId> gpus;
  std::vector<int> rails;
};

/// As many of the node's NICs as the group may use, those next to its GPUs first.
std::vector<int> rails_of(const ClusterTopology& topology, const std::vector<GpuId>& gpus,
                          std::size_t count) {
  std::vector<int> rails;
  const auto add = [&rails, count](int nic) {
    if (rails.size() < count && std::ranges::find(rails, nic) == rails.end()) rails.push_back(nic);
  };
  for (const GpuId gpu : gpus) std::ranges::for_each(topology.own_nics(gpu), add);
  for (int nic = 0; nic < topology.cluster().node.nics; ++nic) add(nic);
  return rails;
}

std::vector<NodeGroup> split_by_node(const ClusterTopology& topology,
                                     std::span<const GpuId> group) {
  const ClusterSpec& cluster = topology.cluster();
  std::vector<GpuId> sorted(group.begin(), group.end());
  std::ranges::sort(sorted);
  FORETOKEN_CHECK(std::ranges::adjacent_find(sorted) == sorted.end(),
                  "a GPU is twice in a collective");
  std::vector<NodeGroup> nodes;
  for (const GpuId gpu : sorted) {
    if (nodes.empty() || cluster.node_of(nodes.back().gpus.back()) != cluster.node_of(gpu))
      nodes.emplace_back();
    nodes.back().gpus.push_back(gpu);
  }
  if (nodes.size() == 1) return nodes;

  // As group_links() counts them: the node with the fewest ranks decides how many rails there are.
  std::size_t ranks_min = sorted.size();
  for (const NodeGroup& node : nodes) ranks_min = std::min(ranks_min, node.gpus.size());
  const int nics_per_gpu = std::max(1, cluster.node.nics / cluster.node.gpus);
  const std::size_t rails =
      std::min(static_cast<std::size_t>(cluster.node.nics), ranks_min * nics_per_gpu);
  for (NodeGroup& node : nodes) node.rails = rails_of(topology, node.gpus, rails);
  return nodes;
}

class Planner {
 public:
  /// `rate` is what one rank moves `share` at.
  Planner(const ClusterTopology& topology, Bytes share, BytesPerSecond rate)
      : topology_(topology), share_(share), rate_(rate) {}

  /// Sends `portion` of a rank's share.
  void inside(GpuId from, GpuId to, double portion) {
    add(topology_.route_inside(from, to), portion);
  }

  /// The same between nodes, over rails `first` to `last` (exclusive) of both nodes.
  void between(GpuId from, const NodeGroup& from_node, GpuId to, const NodeGroup& to_node,
               std::size_t first, std::size_t last, double portion) {
    for (std::size_t i = first; i < last; ++i) {
      add(topology_.route_between(from, from_node.rails[i], to, to_node.rails[i]),
          portion / static_cast<double>(last - first));
    }
  }

  std::vector<PlannedFlow> take() { return std::move(flows_); }

 private:
  void add(const Route& route, double portion) {
    flows_.push_back({route, share_ * portion, rate_ * portion});
  }

  const ClusterTopology& topology_;
  Bytes share_;
  BytesPerSecond rate_;
  std::vector<PlannedFlow> flows_;
};

void plan_ring(Planner& planner, const std::vector<NodeGroup>& nodes) {
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeGroup& node = nodes[n];
    for (std::size_t i = 0; i + 1 < node.gpus.size(); ++i)
      planner.inside(node.gpus[i], node.gpus[i + 1], 1);
    const NodeGroup& next = nodes[(n + 1) % nodes.size()];
    if (nodes.size() == 1) {
      planner.inside(node.gpus.back(), node.gpus.front(), 1);
    } else {
      planner.between(node.gpus.back(), node, next.gpus.front(), next, 0, node.rails.size(), 1);
    }
  }
}

/// Of the n-1 messages of a rank, k-1 stay in its node of k ranks.
void plan_exchange(Planner& planner, const std::vector<NodeGroup>& nodes, std::size_t ranks) {
  const double messages = static_cast<double>(ranks - 1);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeGroup& node = nodes[n];
    const NodeGroup& next = nodes[(n + 1) % nodes.size()];
    const std::size_t k = node.gpus.size();
    const double staying = static_cast<double>(k - 1) / messages;
    for (std::size_t i = 0; i < k; ++i) {
      const GpuId from = node.gpus[i];
      if (k > 1) planner.inside(from, node.gpus[(i + 1) % k], staying);
      if (nodes.size() == 1) continue;
      // Ranks share the rails out evenly: some each, or one each, or (no multiple) all each.
      const std::size_t rails = node.rails.size();
      std::size_t first = 0, last = rails;
      if (rails % k == 0) first = i * (rails / k), last = first + rails / k;
      if (k % rails == 0) first = i % rails, last = first + 1;
      planner.between(from, node, next.gpus[i % next.gpus.size()], next, first, last, 1 - staying);
    }
  }
}

void plan_send(Planner& planner, const std::vector<NodeGroup>& nodes, GpuId from, GpuId to) {
  if (nodes.size() == 1) return planner.inside(from, to, 1);
  const bool ascending = nodes.front().gpus.front() == from;
  const NodeGroup& source = ascending ? nodes.front() : nodes.back();
  const NodeGroup& target = ascending ? nodes.back() : nodes.front();
  planner.between(from, source, to, target, 0, source.rails.size(), 1);
}

int steps_of(CollectiveOp op, int ranks) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2 * (ranks - 1);
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all:
      return ranks - 1;
    case CollectiveOp::send_recv:
      break;
  }
  return 1;
}

}  // namespace

CollectivePlan plan_collective(const ClusterTopology& topology, CollectiveOp op,
                               std::span<const GpuId> group, Bytes size) {
  FORETOKEN_CHECK(!group.empty(), "a collective of no GPU");
  FORETOKEN_CHECK(size.value() >= 0, "a collective of {} B", size.value());
  CollectivePlan plan;
  if (group.size() == 1) return plan;

  const bool is_send = op == CollectiveOp::send_recv;
  FORETOKEN_CHECK(!is_send || group.size() == 2, "send_recv between {} GPUs", group.size());
  const GroupLinks links = group_links(topology.cluster(), group);
  plan.steps = steps_of(op, links.ranks);
  plan.step_latency = links.latency;
  if (size.value() == 0) return plan;

  const bool is_exchange = op == CollectiveOp::all_to_all;
  const bool has_own_rate = is_exchange && links.exchange_bandwidth.value() > 0;
  Planner planner(topology, is_send ? size : size / static_cast<double>(links.ranks),
                  has_own_rate ? links.exchange_bandwidth : links.bandwidth);
  const std::vector<NodeGroup> nodes = split_by_node(topology, group);
  if (is_send) {
    plan_send(planner, nodes, group[0], group[1]);
  } else if (is_exchange) {
    plan_exchange(planner, nodes, group.size());
  } else {
    plan_ring(planner, nodes);
  }
  plan.flows = planner.take();
  return plan;
}

}  // namespace foretoken
