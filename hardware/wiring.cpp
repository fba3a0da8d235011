#include "hardware/wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/error.hpp"

namespace foretoken {

Wiring::Wiring(const ClusterSpec& cluster) : cluster_(cluster), fabric_(cluster), fabric_first_(0) {
  const bool has_fabric = cluster.nodes > 1 && cluster.fabric.kind != FabricKind::none;
  const auto add = [&](const NodeSpec& node, int count) {
    group_first_.push_back(fabric_first_);
    nodes_.emplace_back(node, has_fabric);
    fabric_first_ += static_cast<LinkIndex>(count) * nodes_.back().link_count();
  };
  for (const NodeGroup& group : cluster.groups) add(group.node, group.nodes);
  if (cluster.groups.empty()) add(cluster.node, cluster.nodes);
}

BytesPerSecond Wiring::capacity(LinkIndex link) const {
  if (link >= fabric_first_) return fabric_.capacity(link - fabric_first_);
  const int node = node_with(link);
  return node_at(node).capacity(link - base_of(node));
}

std::string Wiring::name(LinkIndex link) const {
  if (link >= fabric_first_) return fabric_.name(link - fabric_first_);
  const int node = node_with(link);
  return fmt::format("node {} {}", node, node_at(node).name(link - base_of(node)));
}

void Wiring::check_gpu(GpuId gpu) const {
  FORETOKEN_CHECK(gpu.value < static_cast<std::uint32_t>(cluster_.gpu_count()),
                  "GPU {} of a cluster of {}", gpu.value, cluster_.gpu_count());
}

int Wiring::slot_of(GpuId gpu) const {
  return static_cast<int>(gpu.value - cluster_.first_gpu(cluster_.node_of(gpu)).value);
}

LinkIndex Wiring::base_of(int node) const {
  const std::size_t group = cluster_.group_of(node);
  const int before = node - cluster_.nodes_of(group).first;
  return group_first_[group] + static_cast<LinkIndex>(before) * nodes_[group].link_count();
}

int Wiring::node_with(LinkIndex link) const {
  const auto next = std::ranges::upper_bound(group_first_, link);
  const auto group = static_cast<std::size_t>(next - group_first_.begin()) - 1;
  const LinkIndex before = (link - group_first_[group]) / nodes_[group].link_count();
  return cluster_.nodes_of(group).first + static_cast<int>(before);
}

Route Wiring::route_inside(GpuId from, GpuId to) const {
  check_gpu(from);
  check_gpu(to);
  const int node = cluster_.node_of(from);
  FORETOKEN_CHECK(from != to && node == cluster_.node_of(to), "GPUs {} and {} inside a node",
                  from.value, to.value);
  Route route;
  node_at(node).append_inside(route, base_of(node), slot_of(from), slot_of(to));
  if (is_whole(route)) return route;
  const auto ways = node_at(node).ways_inside(base_of(node), slot_of(from), slot_of(to));
  const Route* way = first_whole(ways);
  FORETOKEN_CHECK(way != nullptr, "no path is left from GPU {} to GPU {}", from.value, to.value);
  return *way;
}

Route Wiring::route_between(GpuId from, int from_nic, GpuId to, int to_nic) const {
  check_gpu(from);
  check_gpu(to);
  const int from_node = cluster_.node_of(from);
  const int to_node = cluster_.node_of(to);
  const int from_nics = cluster_.node_at(from_node).nics;
  const int to_nics = cluster_.node_at(to_node).nics;
  FORETOKEN_CHECK(from_nic < from_nics && to_nic < to_nics, "NICs {} of {} and {} of {}", from_nic,
                  from_nics, to_nic, to_nics);
  FORETOKEN_CHECK(cluster_.fabric.kind != FabricKind::none,
                  "no fabric joins the nodes of cluster {}", cluster_.name);
  Route route;
  node_at(from_node).append_to_nic(route, base_of(from_node), slot_of(from), from_nic);
  if (!is_whole(route)) {
    const auto ways = node_at(from_node).ways_to_nic(base_of(from_node), slot_of(from), from_nic);
    const Route* way = first_whole(ways);
    FORETOKEN_CHECK(way != nullptr, "no path is left from GPU {} to a NIC", from.value);
    route = *way;
  }
  fabric_.append(route, fabric_first_, {from_node, from_nic}, {to_node, to_nic});
  Route arrival;
  node_at(to_node).append_from_nic(arrival, base_of(to_node), to_nic, slot_of(to));
  if (!is_whole(arrival)) {
    const auto ways = node_at(to_node).ways_from_nic(base_of(to_node), to_nic, slot_of(to));
    const Route* way = first_whole(ways);
    FORETOKEN_CHECK(way != nullptr, "no path is left from a NIC to GPU {}", to.value);
    arrival = *way;
  }
  route.insert(route.end(), arrival.begin(), arrival.end());
  return route;
}

Route Wiring::route_to_host(GpuId gpu) const {
  check_gpu(gpu);
  Route route;
  const int node = cluster_.node_of(gpu);
  node_at(node).append_to_host(route, base_of(node), slot_of(gpu));
  return route;
}

Route Wiring::route_from_host(GpuId gpu) const {
  check_gpu(gpu);
  Route route;
  const int node = cluster_.node_of(gpu);
  node_at(node).append_from_host(route, base_of(node), slot_of(gpu));
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
  if (from_node == to_node) return node_at(from_node).latency(slot_of(from), slot_of(to));
  return latency_between(from_node, node_at(from_node).own_nics(slot_of(from)).first, to_node,
                         node_at(to_node).own_nics(slot_of(to)).first);
}

std::vector<int> Wiring::own_nics(GpuId gpu) const {
  const NodeWiring::OwnNics own = node_at(cluster_.node_of(gpu)).own_nics(slot_of(gpu));
  std::vector<int> nics(static_cast<std::size_t>(own.count));
  std::iota(nics.begin(), nics.end(), own.first);
  return nics;
}

void Wiring::set_nic(int node, int nic, bool is_up) {
  std::erase(down_, std::pair(node, nic));
  if (!is_up) down_.emplace_back(node, nic);
}

std::vector<int> Wiring::nics_up(int node) const {
  std::vector<int> nics;
  for (int nic = 0; nic < cluster_.node_at(node).nics; ++nic) {
    if (std::ranges::find(down_, std::pair(node, nic)) == down_.end()) nics.push_back(nic);
  }
  return nics;
}

void Wiring::set_link(LinkIndex link, bool is_up) {
  std::erase(down_links_, link);
  if (!is_up) down_links_.push_back(link);
}

std::optional<int> Wiring::node_around(LinkIndex link) const {
  if (link >= fabric_first_) return std::nullopt;
  const int node = node_with(link);
  const LinkIndex own = link - base_of(node);
  return node_at(node).is_nic(own) ? std::nullopt : std::optional(node);
}

std::vector<LinkIndex> Wiring::ports_of(int node) const {
  std::vector<LinkIndex> ports(node_at(node).port_count());
  std::iota(ports.begin(), ports.end(), base_of(node));
  return ports;
}

bool Wiring::is_whole(const Route& route) const {
  return std::ranges::none_of(
      down_links_, [&](LinkIndex link) { return std::ranges::find(route, link) != route.end(); });
}

const Route* Wiring::first_whole(const std::vector<Route>& ways) const {
  const auto found = std::ranges::find_if(ways, [&](const Route& way) { return is_whole(way); });
  return found == ways.end() ? nullptr : &*found;
}

int Wiring::wires_up(GpuId from, GpuId to) const {
  const int node = cluster_.node_of(from);
  const int wires = node_at(node).wires(slot_of(from), slot_of(to));
  if (wires == 0 || down_links_.empty()) return wires;
  Route direct;
  node_at(node).append_inside(direct, base_of(node), slot_of(from), slot_of(to));
  return is_whole(direct) ? wires : 0;
}

std::string Wiring::cut_off(int node) const {
  const NodeWiring& wiring = node_at(node);
  const LinkIndex base = base_of(node);
  const int first = static_cast<int>(cluster_.first_gpu(node).value);
  const int gpus = cluster_.node_at(node).gpus;
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < gpus; ++b) {
      if (a != b && first_whole(wiring.ways_inside(base, a, b)) == nullptr)
        return fmt::format("GPU {} to GPU {}", first + a, first + b);
    }
    const GpuId gpu{static_cast<std::uint32_t>(first + a)};
    if (!is_whole(route_to_host(gpu)) || !is_whole(route_from_host(gpu)))
      return fmt::format("GPU {} to its host", gpu.value);
    for (int nic = 0; nic < wiring.nic_count(); ++nic) {
      if (first_whole(wiring.ways_to_nic(base, a, nic)) == nullptr ||
          first_whole(wiring.ways_from_nic(base, nic, a)) == nullptr)
        return fmt::format("GPU {} to network card {} of its node", gpu.value, nic);
    }
  }
  return "";
}

bool Wiring::is_shared(LinkIndex link, const std::vector<bool>& members) const {
  if (link >= fabric_first_) return true;
  const int node = node_with(link);
  return node_at(node).is_shared(link - base_of(node), members);
}

}  // namespace foretoken
