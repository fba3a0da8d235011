#include "hardware/fabric_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Of counts up to 2^31 - 1 each.
int ceiling(int amount, int size) { return amount / size + (amount % size != 0 ? 1 : 0); }

BytesPerSecond nic_rate(const NodeSpec& node) { return node.nic_bandwidth * node.nic_efficiency; }

/// The index of `other` among all that are not `self`.
int among_others(int self, int other) { return other - (other > self ? 1 : 0); }

/// Steps from `from` to `to` round a ring of `size`, negative for backwards; half-way goes towards
/// the larger number, so that both directions are used.
int ring_steps(int from, int to, int size) {
  const int forward = (to - from + size) % size;
  const int backward = size - forward;
  if (forward == backward) return to > from ? forward : -backward;
  return forward < backward ? forward : -backward;
}

}  // namespace

FabricWiring::FabricWiring(const ClusterSpec& cluster)
    : cluster_(cluster), rails_(cluster.node.nics), efficiency_(cluster.node.nic_efficiency) {
  const FabricSpec& fabric = cluster.fabric;
  for (const NodeGroup& group : cluster.groups) {
    rails_ = std::max(rails_, group.node.nics);
    efficiency_ = std::min(efficiency_, group.node.nic_efficiency);
  }
  switch (fabric.kind) {
    case FabricKind::none:
    case FabricKind::single_switch:
      return;
    case FabricKind::rail_optimized: {
      const int nodes = fabric.nodes_per_leaf > 0 ? fabric.nodes_per_leaf : cluster.nodes;
      leaves_ = ceiling(cluster.nodes, nodes) * rails_;
      if (fabric.oversubscription > 1 && leaves_ > 1)
        link_count_ = 2 * static_cast<LinkIndex>(leaves_);
      return;
    }
    case FabricKind::fat_tree:
      FORETOKEN_CHECK(fabric.nodes_per_leaf > 0, "a fat tree with {} nodes a leaf",
                      fabric.nodes_per_leaf);
      leaves_ = ceiling(cluster.nodes, fabric.nodes_per_leaf);
      if (fabric.oversubscription > 1 && leaves_ > 1)
        link_count_ = 2 * static_cast<LinkIndex>(leaves_);
      pod_links_ = link_count_;
      if (fabric.leaves_per_pod > 0) pods_ = ceiling(leaves_, fabric.leaves_per_pod);
      if (has_pods()) link_count_ += 2 * static_cast<LinkIndex>(pods_);
      return;
    case FabricKind::dragonfly: {
      const int routers = fabric.routers_per_group;
      FORETOKEN_CHECK(fabric.nodes_per_router > 0 && routers > 0, "a dragonfly without routers");
      groups_ = ceiling(ceiling(cluster.nodes, fabric.nodes_per_router), routers);
      global_first_ = static_cast<LinkIndex>(groups_ * routers * (routers - 1));
      link_count_ = global_first_;
      if (groups_ == 1) return;
      global_links_ = routers * fabric.global_links_per_router / (groups_ - 1);
      FORETOKEN_CHECK(global_links_ > 0, "{} groups of {} global links", groups_,
                      routers * fabric.global_links_per_router);
      link_count_ += static_cast<LinkIndex>(groups_ * (groups_ - 1));
      return;
    }
    case FabricKind::torus:
      link_count_ = 2 * static_cast<LinkIndex>(cluster.nodes * fabric.dimensions.size());
      return;
  }
}

/// Whether the uplinks of pods hold up more than those of their leaves do.
bool FabricWiring::has_pods() const {
  return pods_ > 1 && cluster_.fabric.pod_oversubscription > 1;
}

BytesPerSecond FabricWiring::capacity(LinkIndex link) const {
  const FabricSpec& fabric = cluster_.fabric;
  switch (fabric.kind) {
    case FabricKind::dragonfly:
      return efficiency_ * (link < global_first_ ? fabric.local_bandwidth
                                                 : fabric.global_bandwidth * global_links_);
    case FabricKind::torus:
      return efficiency_ * fabric.link_bandwidth;
    default:
      return link < pod_links_ || pods_ <= 1
                 ? leaf_uplink(static_cast<int>(link / 2))
                 : pod_uplink(static_cast<int>((link - pod_links_) / 2));
  }
}

std::string FabricWiring::torus_name(LinkIndex link) const {
  const int dimensions = static_cast<int>(cluster_.fabric.dimensions.size());
  const int wire = static_cast<int>(link / 2);
  return fmt::format("torus node {} dimension {} {}", wire / dimensions, wire % dimensions,
                     link % 2 == 0 ? "up" : "down");
}

std::string FabricWiring::name(LinkIndex link) const {
  const FabricSpec& fabric = cluster_.fabric;
  const std::string_view direction = link % 2 == 0 ? "out" : "in";
  if (fabric.kind == FabricKind::torus) return torus_name(link);
  if (fabric.kind != FabricKind::dragonfly) {
    const bool is_leaf = link < pod_links_ || pods_ <= 1;
    return is_leaf ? fmt::format("leaf {} {}", link / 2, direction)
                   : fmt::format("pod {} {}", (link - pod_links_) / 2, direction);
  }
  if (link < global_first_) {
    const int routers = fabric.routers_per_group;
    const int from = static_cast<int>(link) / (routers - 1);
    const int other = static_cast<int>(link) % (routers - 1);
    const int self = from % routers;
    return fmt::format("router {} to {}", from, from - self + other + (other >= self ? 1 : 0));
  }
  const int index = static_cast<int>(link - global_first_);
  const int from = index / (groups_ - 1);
  const int other = index % (groups_ - 1);
  return fmt::format("group {} to {}", from, other + (other >= from ? 1 : 0));
}

int FabricWiring::leaf_of(Nic nic) const {
  const FabricSpec& fabric = cluster_.fabric;
  if (fabric.kind == FabricKind::fat_tree) return nic.node / fabric.nodes_per_leaf;
  const int unit = fabric.nodes_per_leaf > 0 ? nic.node / fabric.nodes_per_leaf : 0;
  return unit * rails_ + nic.rail;
}

/// Payload of a leaf's uplinks together. A leaf that is filled in part has its places for nodes
/// like its last; places for NICs that some nodes lack send nothing.
BytesPerSecond FabricWiring::leaf_uplink(int leaf) const {
  const FabricSpec& fabric = cluster_.fabric;
  const int nodes = fabric.nodes_per_leaf > 0 ? fabric.nodes_per_leaf : cluster_.nodes;
  const bool has_all_nics = fabric.kind == FabricKind::fat_tree;
  const auto nics_of = [&](const NodeSpec& node) {
    return has_all_nics ? node.nics : leaf % rails_ < node.nics ? 1 : 0;
  };
  if (cluster_.groups.empty())
    return nic_rate(cluster_.node) * (nodes * nics_of(cluster_.node) / fabric.oversubscription);
  const int first = (has_all_nics ? leaf : leaf / rails_) * nodes;
  BytesPerSecond sum;
  for (int number = first; number < first + nodes; ++number) {
    const NodeSpec& node = cluster_.node_at(std::min(number, cluster_.nodes - 1));
    sum += nic_rate(node) * nics_of(node);
  }
  return sum / fabric.oversubscription;
}

BytesPerSecond FabricWiring::pod_uplink(int pod) const {
  const FabricSpec& fabric = cluster_.fabric;
  const int leaves = fabric.leaves_per_pod;
  if (cluster_.groups.empty()) return leaf_uplink(0) * (leaves / fabric.pod_oversubscription);
  BytesPerSecond sum;
  for (int leaf = pod * leaves; leaf < (pod + 1) * leaves; ++leaf)
    sum += leaf_uplink(std::min(leaf, leaves_ - 1));
  return sum / fabric.pod_oversubscription;
}

void FabricWiring::append(Route& route, LinkIndex base, Nic from, Nic to) const {
  switch (cluster_.fabric.kind) {
    case FabricKind::none:
      FORETOKEN_CHECK(false, "no fabric joins the nodes of cluster {}", cluster_.name);
    case FabricKind::single_switch:
      return;
    case FabricKind::rail_optimized:
    case FabricKind::fat_tree:
      return append_tree(route, base, from, to);
    case FabricKind::dragonfly:
      return append_dragonfly(route, base, from.node, to.node);
    case FabricKind::torus:
      return append_torus(route, base, from.node, to.node);
  }
}

void FabricWiring::append_tree(Route& route, LinkIndex base, Nic from, Nic to) const {
  const int from_leaf = leaf_of(from);
  const int to_leaf = leaf_of(to);
  if (link_count_ == 0 || from_leaf == to_leaf) return;
  const bool has_leaf_links = cluster_.fabric.oversubscription > 1;
  if (has_leaf_links) route.push_back(base + 2 * static_cast<LinkIndex>(from_leaf));
  if (has_pods() && pod_of(from_leaf) != pod_of(to_leaf)) {
    route.push_back(base + pod_links_ + 2 * static_cast<LinkIndex>(pod_of(from_leaf)));
    route.push_back(base + pod_links_ + 2 * static_cast<LinkIndex>(pod_of(to_leaf)) + 1);
  }
  if (has_leaf_links) route.push_back(base + 2 * static_cast<LinkIndex>(to_leaf) + 1);
}

/// The global links of a group are numbered router by router and go to the next group first, then
/// to the one after it and so on, `global_links_` to each.
int FabricWiring::gateway(int group, int other, int link) const {
  const int order = (other - group - 1 + groups_) % groups_;
  return (order * global_links_ + link) / cluster_.fabric.global_links_per_router;
}

void FabricWiring::append_local(Route& route, LinkIndex base, int from_router,
                                int to_router) const {
  if (from_router == to_router) return;
  const int routers = cluster_.fabric.routers_per_group;
  const int other = among_others(from_router % routers, to_router % routers);
  route.push_back(base + static_cast<LinkIndex>(from_router * (routers - 1) + other));
}

void FabricWiring::append_dragonfly(Route& route, LinkIndex base, int from_node,
                                    int to_node) const {
  const FabricSpec& fabric = cluster_.fabric;
  const int routers = fabric.routers_per_group;
  const int from = from_node / fabric.nodes_per_router;
  const int to = to_node / fabric.nodes_per_router;
  const int from_group = from / routers;
  const int to_group = to / routers;
  if (from_group == to_group) return append_local(route, base, from, to);
  const int group_nodes = routers * fabric.nodes_per_router;
  const int out = gateway(from_group, to_group, from_node % group_nodes % global_links_);
  const int in = gateway(to_group, from_group, to_node % group_nodes % global_links_);
  append_local(route, base, from, from_group * routers + out);
  const int pair = from_group * (groups_ - 1) + among_others(from_group, to_group);
  route.push_back(base + global_first_ + static_cast<LinkIndex>(pair));
  append_local(route, base, to_group * routers + in, to);
}

void FabricWiring::append_torus(Route& route, LinkIndex base, int from_node, int to_node) const {
  const std::vector<int>& dimensions = cluster_.fabric.dimensions;
  int node = from_node;
  int stride = 1;
  // Nodes are numbered along the last dimension first.
  for (std::size_t d = dimensions.size(); d-- > 0;) {
    const int size = dimensions[d];
    const int at = node / stride % size;
    const int steps = ring_steps(at, to_node / stride % size, size);
    const int towards = steps > 0 ? 1 : -1;
    for (int i = 0; i < std::abs(steps); ++i) {
      const auto wire = static_cast<LinkIndex>(node * dimensions.size() + d);
      route.push_back(base + 2 * wire + (towards > 0 ? 0 : 1));
      const int here = node / stride % size;
      node += ((here + towards + size) % size - here) * stride;
    }
    stride *= size;
  }
}

int FabricWiring::further_switches(Nic from, Nic to) const {
  const FabricSpec& fabric = cluster_.fabric;
  switch (fabric.kind) {
    case FabricKind::none:
    case FabricKind::single_switch:
      return 0;
    case FabricKind::rail_optimized:
      return leaf_of(from) == leaf_of(to) ? 0 : 2;
    case FabricKind::fat_tree:
      if (leaf_of(from) == leaf_of(to)) return 0;
      return pods_ > 1 && pod_of(leaf_of(from)) != pod_of(leaf_of(to)) ? 4 : 2;
    case FabricKind::dragonfly:
    case FabricKind::torus:
      break;
  }
  Route links;
  append(links, 0, from, to);
  const int hops = static_cast<int>(links.size());
  return fabric.kind == FabricKind::torus ? std::max(0, hops - 1) : hops;
}

std::vector<int> FabricWiring::shape() const {
  const FabricSpec& fabric = cluster_.fabric;
  const int leaf = fabric.nodes_per_leaf;
  switch (fabric.kind) {
    case FabricKind::torus:
      return fabric.dimensions;
    case FabricKind::dragonfly:
      return {groups_, fabric.routers_per_group, fabric.nodes_per_router};
    case FabricKind::rail_optimized:
    case FabricKind::fat_tree:
      if (leaf == 0) break;
      if (pods_ > 1) return {pods_, fabric.leaves_per_pod, leaf};
      return {ceiling(cluster_.nodes, leaf), leaf};
    default:
      break;
  }
  return {cluster_.nodes};
}

BytesPerSecond FabricWiring::bisection() const {
  const FabricSpec& fabric = cluster_.fabric;
  if (fabric.kind == FabricKind::torus) {
    const int longest = *std::ranges::max_element(fabric.dimensions);
    if (longest < 2) return {};
    const int cuts = longest > 2 ? 2 : 1;  // a ring is cut twice
    return capacity(0) * (cuts * (cluster_.nodes / longest));
  }
  if (fabric.kind == FabricKind::dragonfly) {
    if (groups_ == 1) {  // every router of one half to every one of the other
      const int half = fabric.routers_per_group / 2;
      return capacity(0) * (half * (fabric.routers_per_group - half));
    }
    const int half = groups_ / 2;
    return capacity(global_first_) * (half * (groups_ - half));
  }
  if (link_count_ == 0) return {};
  // Half of the uplinks of the stage that carries least.
  const auto half_of = [&](int count, auto uplink) {
    if (cluster_.groups.empty()) return uplink(0) * (count / 2.0);
    BytesPerSecond sum;
    for (int i = 0; i < count; ++i) sum += uplink(i);
    return sum / 2.0;
  };
  BytesPerSecond least;
  if (fabric.oversubscription > 1)
    least = half_of(leaves_, [&](int leaf) { return leaf_uplink(leaf); });
  if (has_pods()) {
    const BytesPerSecond pods = half_of(pods_, [&](int pod) { return pod_uplink(pod); });
    if (least.value() == 0 || pods < least) least = pods;
  }
  return least;
}

}  // namespace foretoken
