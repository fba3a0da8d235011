#include "hardware/wiring.hpp"

#include <fmt/format.h>

#include <numeric>

#include "sim/base/error.hpp"

namespace foretoken {

Wiring::Wiring(const ClusterSpec& cluster)
    : cluster_(cluster),
      node_(cluster.node, cluster.nodes > 1 && cluster.fabric.kind != FabricKind::none),
      fabric_(cluster),
      fabric_first_(static_cast<LinkIndex>(cluster.nodes) * node_.link_count()) {}

BytesPerSecond Wiring::capacity(LinkIndex link) const {
  if (link >= fabric_first_) return fabric_.capacity(link - fabric_first_);
  return node_.capacity(link % node_.link_count());
}

std::string Wiring::name(LinkIndex link) const {
  if (link >= fabric_first_) return fabric_.name(link - fabric_first_);
  return fmt::format("node {} {}", link / node_.link_count(),
                     node_.name(link % node_.link_count()));
}

void Wiring::check_gpu(GpuId gpu) const {
  FORETOKEN_CHECK(gpu.value < static_cast<std::uint32_t>(cluster_.gpu_count()),
                  "GPU {} of a cluster of {}", gpu.value, cluster_.gpu_count());
}

int Wiring::slot_of(GpuId gpu) const { return static_cast<int>(gpu.value) % cluster_.node.gpus; }

LinkIndex Wiring::base_of(int node) const {
  return static_cast<LinkIndex>(node) * node_.link_count();
}

Route Wiring::route_inside(GpuId from, GpuId to) const {
  check_gpu(from);
  check_gpu(to);
  const int node = cluster_.node_of(from);
  FORETOKEN_CHECK(from != to && node == cluster_.node_of(to), "GPUs {} and {} inside a node",
                  from.value, to.value);
  Route route;
  node_.append_inside(route, base_of(node), slot_of(from), slot_of(to));
  return route;
}

Route Wiring::route_between(GpuId from, int from_nic, GpuId to, int to_nic) const {
  check_gpu(from);
  check_gpu(to);
  const int from_node = cluster_.node_of(from);
  const int to_node = cluster_.node_of(to);
  const int nics = cluster_.node.nics;
  FORETOKEN_CHECK(from_nic < nics && to_nic < nics, "NICs {} and {} of {}", from_nic, to_nic, nics);
  FORETOKEN_CHECK(cluster_.fabric.kind != FabricKind::none,
                  "no fabric joins the nodes of cluster {}", cluster_.name);
  Route route;
  node_.append_to_nic(route, base_of(from_node), slot_of(from), from_nic);
  fabric_.append(route, fabric_first_, {from_node, from_nic}, {to_node, to_nic});
  node_.append_from_nic(route, base_of(to_node), to_nic, slot_of(to));
  return route;
}

Route Wiring::route_to_host(GpuId gpu) const {
  check_gpu(gpu);
  Route route;
  node_.append_to_host(route, base_of(cluster_.node_of(gpu)), slot_of(gpu));
  return route;
}

Route Wiring::route_from_host(GpuId gpu) const {
  check_gpu(gpu);
  Route route;
  node_.append_from_host(route, base_of(cluster_.node_of(gpu)), slot_of(gpu));
  return route;
}

Seconds Wiring::latency_between(int from_node, int from_nic, int to_node, int to_nic) const {
  const int further = cluster_.fabric.switch_latency.value() > 0
                          ? fabric_.further_switches({from_node, from_nic}, {to_node, to_nic})
                          : 0;
  return cluster_.fabric.latency + cluster_.fabric.switch_latency * further;
}

Seconds Wiring::latency(GpuId from, GpuId to) const {
  if (from == to) return Seconds(0);
  const int from_node = cluster_.node_of(from);
  const int to_node = cluster_.node_of(to);
  if (from_node == to_node) return node_.latency(slot_of(from), slot_of(to));
  return latency_between(from_node, node_.own_nics(slot_of(from)).first, to_node,
                         node_.own_nics(slot_of(to)).first);
}

std::vector<int> Wiring::own_nics(GpuId gpu) const {
  const NodeWiring::OwnNics own = node_.own_nics(slot_of(gpu));
  std::vector<int> nics(static_cast<std::size_t>(own.count));
  std::iota(nics.begin(), nics.end(), own.first);
  return nics;
}

bool Wiring::is_shared(LinkIndex link, const std::vector<bool>& members) const {
  return link >= fabric_first_ || node_.is_shared(link % node_.link_count(), members);
}

}  // namespace foretoken
