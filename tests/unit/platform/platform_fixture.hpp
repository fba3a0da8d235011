// Clusters with round numbers, and a handler that writes down who was told when.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "hardware/cluster.hpp"
#include "sim/platform/platform.hpp"

namespace foretoken::testing {

constexpr double giga = 1e9;
constexpr double micro = 1e-6;

/// Rings and direct sends at the links' full rate, without launch, further latency or own part, so
/// that sums stay simple.
inline FabricCosts plain_fabric() {
  FabricCosts fabric;
  fabric.name = "plain";
  fabric.of(Protocol::simple).share = 1;
  fabric.of(Protocol::direct).share = 1;
  return fabric;
}

/// 80 GB/s a GPU port (100 at efficiency 0.8) and 2 us inside a node; NICs of 20 GB/s (25 at 0.8)
/// and 5 us between nodes, one a GPU unless said otherwise.
inline ClusterSpec nvswitch_cluster(int gpus, int nodes = 1, int nics = -1) {
  ClusterSpec cluster;
  cluster.name = "by-hand";
  cluster.nodes = nodes;
  cluster.node.gpus = gpus;
  cluster.node.link = gpus == 1 ? NodeLink::single : NodeLink::nvswitch;
  cluster.node.link_bandwidth = BytesPerSecond(100 * giga);
  cluster.node.link_efficiency = 0.8;
  cluster.node.link_latency = Seconds(2 * micro);
  cluster.comm = {plain_fabric(), plain_fabric()};
  if (nodes == 1) return cluster;
  cluster.node.nics = nics < 0 ? gpus : nics;
  cluster.node.nic_bandwidth = BytesPerSecond(25 * giga);
  cluster.node.nic_efficiency = 0.8;
  cluster.fabric.kind = FabricKind::single_switch;
  cluster.fabric.latency = Seconds(5 * micro);
  return cluster;
}

/// The same with PCIe of 80 GB/s a GPU and a host bridge of `host` GB/s a node.
inline ClusterSpec pcie_cluster(int gpus, double host, int nodes = 1, int nics = -1) {
  ClusterSpec cluster = nvswitch_cluster(gpus, nodes, nics);
  cluster.node.link = NodeLink::pcie;
  cluster.node.host_bandwidth = BytesPerSecond(host * giga);
  return cluster;
}

inline std::vector<GpuId> gpus(std::initializer_list<std::uint32_t> numbers) {
  std::vector<GpuId> ids;
  for (const std::uint32_t number : numbers) ids.push_back({number});
  return ids;
}

inline std::vector<GpuId> first_gpus(int count) {
  std::vector<GpuId> ids;
  for (int i = 0; i < count; ++i) ids.push_back({static_cast<std::uint32_t>(i)});
  return ids;
}

/// Notes every call, then does `then` with the tag.
class Recorder : public EventHandler {
 public:
  struct Call {
    std::uint64_t tag;
    double date;
    friend bool operator==(const Call&, const Call&) = default;
  };

  explicit Recorder(Platform& simulated) : platform_(simulated) {}

  void on_event(std::uint64_t tag) override {
    calls.push_back({tag, platform_.now().value()});
    if (then) then(tag);
  }

  [[nodiscard]] double date_of(std::uint64_t tag) const {
    for (const Call& call : calls)
      if (call.tag == tag) return call.date;
    return -1;
  }

  std::vector<Call> calls;
  std::function<void(std::uint64_t)> then;

 private:
  Platform& platform_;
};

}  // namespace foretoken::testing
