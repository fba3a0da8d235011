#include "hardware/node_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr LinkIndex out(LinkIndex first, int i) { return first + 2 * static_cast<LinkIndex>(i); }
constexpr LinkIndex in(LinkIndex first, int i) { return out(first, i) + 1; }
constexpr LinkIndex duplex(int wires) { return 2 * static_cast<LinkIndex>(wires); }

bool is_limited(BytesPerSecond rate) { return rate.value() > 0; }

std::string_view direction(LinkIndex offset) { return offset % 2 == 0 ? "out" : "in"; }

}  // namespace

NodeWiring::NodeWiring(const NodeSpec& node, bool has_fabric) : node_(node) {
  if (node.gpus > 1) {
    FORETOKEN_CHECK(node.link != NodeLink::single, "{} GPUs a node and no links between them",
                    node.gpus);
  }
  if (node.link == NodeLink::pairwise) {
    pair_number_.assign(static_cast<std::size_t>(node.gpus) * node.gpus, -1);
    const auto join = [this](int first, int second, int links) {
      int& number = pair_number_[static_cast<std::size_t>(first) * node_.gpus + second];
      if (number < 0) {
        number = static_cast<int>(joined_.size());
        joined_.push_back({first, second, 0});
        pair_number_[static_cast<std::size_t>(second) * node_.gpus + first] = number;
      }
      joined_[number].links += links;
    };
    for (const GpuPair& pair : node.pairs)
      join(std::min(pair.first, pair.second), std::max(pair.first, pair.second), pair.links);
    for (int a = 0; node.pairs.empty() && a < node.gpus; ++a)
      for (int b = a + 1; b < node.gpus; ++b) join(a, b, 1);
  }
  const bool has_ports = node.link == NodeLink::nvswitch && node.gpus > 1;
  if (node.gpus_per_switch > 0)
    switch_count_ = (node.gpus + node.gpus_per_switch - 1) / node.gpus_per_switch;
  pairs_ = has_ports ? duplex(node.gpus) : 0;
  wires_ = pairs_ + duplex(static_cast<int>(joined_.size()));
  switches_ = wires_ + (has_tree() ? duplex(node.gpus) : 0);
  bridges_ =
      switches_ + (has_tree() && is_limited(node.switch_bandwidth) ? duplex(switch_count_) : 0);
  sockets_ = bridges_ + (has_tree() && is_limited(node.host_bandwidth) ? duplex(node.sockets) : 0);
  nics_ = sockets_ + (has_tree() && is_limited(node.socket_bandwidth)
                          ? static_cast<LinkIndex>(node.sockets * (node.sockets - 1))
                          : 0);
  nic_count_ = has_fabric ? static_cast<LinkIndex>(node.nics) : 0;
}

bool NodeWiring::has_tree() const {
  if (node_.link == NodeLink::pcie) return true;
  return is_limited(node_.pcie_bandwidth);
}

BytesPerSecond NodeWiring::capacity(LinkIndex link) const {
  if (link >= nics_) return node_.nic_bandwidth * node_.nic_efficiency;
  if (link >= sockets_) return node_.socket_bandwidth;
  if (link >= bridges_) return node_.host_bandwidth;
  if (link >= switches_) return node_.switch_bandwidth;
  const BytesPerSecond one = node_.link_bandwidth * node_.link_efficiency;
  if (link >= wires_) {
    return node_.link == NodeLink::pcie ? one : node_.pcie_bandwidth * node_.pcie_efficiency;
  }
  return link >= pairs_ ? one * joined_[(link - pairs_) / 2].links : one;
}

std::string NodeWiring::name(LinkIndex link) const {
  const auto numbered = [link](std::string_view what, LinkIndex first) {
    return fmt::format("{} {} {}", what, (link - first) / 2, direction(link - first));
  };
  if (link >= nics_) return numbered("nic", nics_);
  if (link >= sockets_) {
    const int index = static_cast<int>(link - sockets_);
    const int from = index / (node_.sockets - 1);
    const int to = index % (node_.sockets - 1);
    return fmt::format("socket {} to {}", from, to + (to >= from ? 1 : 0));
  }
  if (link >= bridges_) return numbered("bridge", bridges_);
  if (link >= switches_) return numbered("pcie switch", switches_);
  if (link >= wires_) return numbered("gpu pcie", wires_);
  if (link >= pairs_) {
    const GpuPair& pair = joined_[(link - pairs_) / 2];
    const bool forth = (link - pairs_) % 2 == 0;
    return fmt::format("gpu {} to {}", forth ? pair.first : pair.second,
                       forth ? pair.second : pair.first);
  }
  return numbered("gpu", 0);
}

int NodeWiring::pair_index(int first, int second) const {
  return pair_number_[static_cast<std::size_t>(first) * node_.gpus + second];
}

int NodeWiring::wires(int first, int second) const {
  if (node_.link != NodeLink::pairwise || first == second) return 0;
  const int number = pair_index(first, second);
  return number < 0 ? 0 : joined_[number].links;
}

LinkIndex NodeWiring::pair_link(int from, int to) const {
  const int number = pair_index(from, to);
  return joined_[number].first == from ? out(pairs_, number) : in(pairs_, number);
}

int NodeWiring::relay_between(int from, int to) const {
  int best = -1, best_wires = 0;
  for (int gpu = 0; gpu < node_.gpus; ++gpu) {
    const int width = std::min(wires(from, gpu), wires(gpu, to));
    if (width > best_wires) best = gpu, best_wires = width;
  }
  return best;
}

NodeWiring::Position NodeWiring::position_of_gpu(int gpu) const {
  if (switch_count_ == 0) return {0, gpu * node_.sockets / node_.gpus, false};
  const int number = gpu / node_.gpus_per_switch;
  return {number, number * node_.sockets / switch_count_, true};
}

NodeWiring::Position NodeWiring::position_of_nic(int nic) const {
  if (node_.nic_place() == NicPlace::host) return {0, nic * node_.sockets / node_.nics, false};
  return position_of_gpu(owner_of(nic));
}

NodeWiring::Way NodeWiring::way(int from, int to) const {
  if (node_.link == NodeLink::nvswitch) return Way::nvswitch;
  if (node_.link == NodeLink::pairwise) {
    if (wires(from, to) > 0) return Way::wire;
    if (relay_between(from, to) >= 0) return Way::relay;
  }
  const Position a = position_of_gpu(from);
  const Position b = position_of_gpu(to);
  if (a.has_switch && a.pcie_switch == b.pcie_switch) return Way::pcie_switch;
  return a.socket == b.socket ? Way::bridge : Way::sockets;
}

Seconds NodeWiring::latency(int from, int to) const {
  switch (way(from, to)) {
    case Way::wire:
    case Way::nvswitch:
      return node_.link_latency;
    case Way::relay:
      return 2 * node_.link_latency;
    default:
      return node_.link == NodeLink::pcie ? node_.link_latency : node_.pcie_latency;
  }
}

LinkIndex NodeWiring::socket_link(int from, int to) const {
  return sockets_ + static_cast<LinkIndex>(from * (node_.sockets - 1) + to - (to > from ? 1 : 0));
}

/// From where data stands below `from` up to the socket of `to`; to a NIC on its socket's bridge it
/// goes no further.
void NodeWiring::append_climb(Route& route, LinkIndex base, const Position& from,
                              const Position& to, bool to_nic) const {
  if (from.has_switch && to.has_switch && from.pcie_switch == to.pcie_switch) return;
  if (from.has_switch && is_limited(node_.switch_bandwidth))
    route.push_back(base + out(switches_, from.pcie_switch));
  if (is_limited(node_.host_bandwidth)) route.push_back(base + out(bridges_, from.socket));
  if (from.socket != to.socket && is_limited(node_.socket_bandwidth))
    route.push_back(base + socket_link(from.socket, to.socket));
  if (to_nic && !to.has_switch) return;
  if (is_limited(node_.host_bandwidth)) route.push_back(base + in(bridges_, to.socket));
  if (to.has_switch && is_limited(node_.switch_bandwidth))
    route.push_back(base + in(switches_, to.pcie_switch));
}

/// The same seen from a NIC: what climbs above goes down here.
void NodeWiring::append_descent(Route& route, LinkIndex base, const Position& from,
                                const Position& to, bool from_nic) const {
  if (!from_nic || from.has_switch) return append_climb(route, base, from, to, false);
  if (from.socket != to.socket && is_limited(node_.socket_bandwidth))
    route.push_back(base + socket_link(from.socket, to.socket));
  if (is_limited(node_.host_bandwidth)) route.push_back(base + in(bridges_, to.socket));
  if (to.has_switch && is_limited(node_.switch_bandwidth))
    route.push_back(base + in(switches_, to.pcie_switch));
}

void NodeWiring::append_inside(Route& route, LinkIndex base, int from, int to) const {
  switch (way(from, to)) {
    case Way::nvswitch:
      route.push_back(base + out(0, from));
      route.push_back(base + in(0, to));
      return;
    case Way::wire:
      route.push_back(base + pair_link(from, to));
      return;
    case Way::relay:
      return append_relayed(route, base, from, relay_between(from, to), to);
    default:
      FORETOKEN_CHECK(has_tree(), "nothing joins GPUs {} and {} of a node", from, to);
      append_over_pcie(route, base, from, to);
  }
}

void NodeWiring::append_relayed(Route& route, LinkIndex base, int from, int relay, int to) const {
  route.push_back(base + pair_link(from, relay));
  route.push_back(base + pair_link(relay, to));
}

void NodeWiring::append_over_pcie(Route& route, LinkIndex base, int from, int to) const {
  route.push_back(base + out(wires_, from));
  append_climb(route, base, position_of_gpu(from), position_of_gpu(to), false);
  route.push_back(base + in(wires_, to));
}

void NodeWiring::append_to_host(Route& route, LinkIndex base, int gpu) const {
  if (!has_tree()) return;
  const Position at = position_of_gpu(gpu);
  route.push_back(base + out(wires_, gpu));
  if (at.has_switch && is_limited(node_.switch_bandwidth))
    route.push_back(base + out(switches_, at.pcie_switch));
  if (is_limited(node_.host_bandwidth)) route.push_back(base + out(bridges_, at.socket));
}

void NodeWiring::append_from_host(Route& route, LinkIndex base, int gpu) const {
  if (!has_tree()) return;
  const Position at = position_of_gpu(gpu);
  if (is_limited(node_.host_bandwidth)) route.push_back(base + in(bridges_, at.socket));
  if (at.has_switch && is_limited(node_.switch_bandwidth))
    route.push_back(base + in(switches_, at.pcie_switch));
  route.push_back(base + in(wires_, gpu));
}

NodeWiring::OwnNics NodeWiring::own_nics(int gpu) const {
  return {gpu * node_.nics / node_.gpus, std::max(1, node_.nics / node_.gpus)};
}

int NodeWiring::owner_of(int nic) const {
  // The first GPU whose share begins at this NIC or, with more NICs than GPUs, the last before it.
  if (node_.nics <= node_.gpus) return (nic * node_.gpus + node_.nics - 1) / node_.nics;
  return ((nic + 1) * node_.gpus - 1) / node_.nics;
}

bool NodeWiring::goes_through_owner(int gpu, int nic) const {
  const OwnNics own = own_nics(gpu);
  const bool is_own = nic >= own.first && nic < own.first + own.count;
  return !is_own && node_.gpus > 1 && node_.link != NodeLink::pcie;
}

void NodeWiring::append_to_nic(Route& route, LinkIndex base, int gpu, int nic) const {
  int from = gpu;
  if (goes_through_owner(gpu, nic)) {
    from = owner_of(nic);
    if (node_.link == NodeLink::nvswitch) {
      route.push_back(base + out(0, gpu));
    } else {
      append_inside(route, base, gpu, from);
    }
  }
  if (node_.nic_place() != NicPlace::gpu && has_tree()) {
    route.push_back(base + out(wires_, from));
    append_climb(route, base, position_of_gpu(from), position_of_nic(nic), true);
  }
  route.push_back(base + out(nics_, nic));
}

void NodeWiring::append_from_nic(Route& route, LinkIndex base, int nic, int gpu) const {
  const bool through_owner = goes_through_owner(gpu, nic);
  const int to = through_owner ? owner_of(nic) : gpu;
  route.push_back(base + in(nics_, nic));
  if (node_.nic_place() != NicPlace::gpu && has_tree()) {
    append_descent(route, base, position_of_nic(nic), position_of_gpu(to), true);
    route.push_back(base + in(wires_, to));
  }
  if (!through_owner) return;
  if (node_.link == NodeLink::nvswitch) {
    route.push_back(base + in(0, gpu));
  } else {
    append_inside(route, base, to, gpu);
  }
}

bool NodeWiring::is_shared(LinkIndex link, const std::vector<bool>& members) const {
  const auto any_outside = [&](const auto& uses) {
    for (int gpu = 0; gpu < node_.gpus; ++gpu)
      if (!members[gpu] && uses(gpu)) return true;
    return false;
  };
  if (link >= nics_) return true;
  if (link >= sockets_) return any_outside([](int) { return true; });
  if (link >= bridges_) {
    const int socket = static_cast<int>(link - bridges_) / 2;
    return any_outside([&](int gpu) { return position_of_gpu(gpu).socket == socket; });
  }
  if (link >= switches_) {
    const int number = static_cast<int>(link - switches_) / 2;
    return any_outside([&](int gpu) { return position_of_gpu(gpu).pcie_switch == number; });
  }
  if (link >= wires_) return !members[(link - wires_) / 2];
  if (link >= pairs_) {
    const GpuPair& pair = joined_[(link - pairs_) / 2];
    return !members[pair.first] || !members[pair.second];
  }
  return !members[link / 2];
}

}  // namespace foretoken
