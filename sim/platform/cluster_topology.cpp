// Capacities are payload rates: bandwidth times the share that large transfers reach. The links of
// a whole cluster are made at once (0.6 us each), since SimGrid takes no more once time has begun.
#include "sim/platform/cluster_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/error.hpp"

namespace foretoken {

ClusterTopology::ClusterTopology(const ClusterSpec& cluster, FlowNetwork& network)
    : cluster_(cluster) {
  const NodeSpec& node = cluster.node;
  const auto add = [&network](std::vector<Duplex>& links, const std::string& name,
                              BytesPerSecond bandwidth) {
    const LinkIndex out = network.add_link(name + " out", bandwidth);
    const LinkIndex in = network.add_link(name + " in", bandwidth);
    links.push_back({out, in});
  };

  if (node.gpus > 1) {
    FORETOKEN_CHECK(node.link != NodeLink::single, "{} GPUs a node and no links between them",
                    node.gpus);
    for (int gpu = 0; gpu < cluster.gpu_count(); ++gpu)
      add(ports_, fmt::format("gpu {}", gpu), node.link_bandwidth * node.link_efficiency);
  }
  if (has_bridge())
    for (int i = 0; i < cluster.nodes; ++i)
      add(bridges_, fmt::format("bridge {}", i), node.host_bandwidth);

  if (cluster.nodes == 1 || cluster.fabric.kind == FabricKind::none) return;
  FORETOKEN_CHECK(node.nics > 0, "a fabric between {} nodes without NICs", cluster.nodes);
  const BytesPerSecond nic_rate = node.nic_bandwidth * node.nic_efficiency;
  for (int i = 0; i < cluster.nodes * node.nics; ++i)
    add(nics_, fmt::format("nic {}", i), nic_rate);

  if (cluster.fabric.kind != FabricKind::fat_tree) return;
  const int nodes_per_leaf = cluster.fabric.nodes_per_leaf;
  FORETOKEN_CHECK(nodes_per_leaf > 0, "a fat tree with {} nodes a leaf", nodes_per_leaf);
  const BytesPerSecond uplink =
      nic_rate * (nodes_per_leaf * node.nics / cluster.fabric.oversubscription);
  for (int leaf = 0; leaf * nodes_per_leaf < cluster.nodes; ++leaf)
    add(uplinks_, fmt::format("leaf {}", leaf), uplink);
}

bool ClusterTopology::has_bridge() const {
  return cluster_.node.link == NodeLink::pcie && cluster_.node.host_bandwidth.value() > 0;
}

void ClusterTopology::check_gpu(GpuId gpu) const {
  FORETOKEN_CHECK(gpu.value < static_cast<std::uint32_t>(cluster_.gpu_count()),
                  "GPU {} of a cluster of {}", gpu.value, cluster_.gpu_count());
}

std::vector<int> ClusterTopology::own_nics(GpuId gpu) const {
  const NodeSpec& node = cluster_.node;
  const int slot = static_cast<int>(gpu.value) % node.gpus;
  std::vector<int> nics(static_cast<std::size_t>(std::max(1, node.nics / node.gpus)));
  std::iota(nics.begin(), nics.end(), slot * node.nics / node.gpus);
  return nics;
}

bool ClusterTopology::uses_port(GpuId gpu, int nic) const {
  if (ports_.empty()) return false;
  if (cluster_.node.link == NodeLink::pcie) return true;  // one wire leads to all
  const std::vector<int> own = own_nics(gpu);
  return nic < own.front() || nic > own.back();
}

void ClusterTopology::append_fabric(Route& route, int from_nic, int to_nic) const {
  FORETOKEN_CHECK(!nics_.empty(), "no fabric joins the nodes of cluster {}", cluster_.name);
  route.push_back(nics_[from_nic].out);
  if (!uplinks_.empty()) {
    const int nics_per_leaf = cluster_.fabric.nodes_per_leaf * cluster_.node.nics;
    const int from_leaf = from_nic / nics_per_leaf;
    const int to_leaf = to_nic / nics_per_leaf;
    if (from_leaf != to_leaf) {
      route.push_back(uplinks_[from_leaf].out);
      route.push_back(uplinks_[to_leaf].in);
    }
  }
  route.push_back(nics_[to_nic].in);
}

Route ClusterTopology::route_inside(GpuId from, GpuId to) const {
  check_gpu(from);
  check_gpu(to);
  const int node = cluster_.node_of(from);
  FORETOKEN_CHECK(from != to && node == cluster_.node_of(to), "GPUs {} and {} inside a node",
                  from.value, to.value);
  Route route{ports_[from.value].out};
  if (has_bridge()) {
    route.push_back(bridges_[node].out);
    route.push_back(bridges_[node].in);
  }
  route.push_back(ports_[to.value].in);
  return route;
}

Route ClusterTopology::route_between(GpuId from, int from_nic, GpuId to, int to_nic) const {
  check_gpu(from);
  check_gpu(to);
  const int from_node = cluster_.node_of(from);
  const int to_node = cluster_.node_of(to);
  const int nics = cluster_.node.nics;
  Route route;
  if (uses_port(from, from_nic)) route.push_back(ports_[from.value].out);
  if (has_bridge()) route.push_back(bridges_[from_node].out);
  append_fabric(route, from_node * nics + from_nic, to_node * nics + to_nic);
  if (has_bridge()) route.push_back(bridges_[to_node].in);
  if (uses_port(to, to_nic)) route.push_back(ports_[to.value].in);
  return route;
}

}  // namespace foretoken
