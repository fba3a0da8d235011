// A ClusterSpec as links and routes. Every wire is two links, one a direction, so that opposite
// flows do not share.
//   nvswitch       a port per GPU; the switch itself never blocks
//   pcie           a link per GPU and the host bridge that all of them share, also towards the NICs
//   NICs           GPU i is next to NIC i * nics / gpus (and those up to the next GPU's)
//   single_switch, rail_optimized   NICs meet without blocking (rails are joined by a full spine)
//   fat_tree       nodes of one leaf meet without blocking, leaves over their uplinks
// What it leaves out: latency inside the network (callers add it), and SMs that copy.
#pragma once

#include <vector>

#include "hardware/cluster.hpp"
#include "sim/base/ids.hpp"
#include "sim/platform/flow_network.hpp"

namespace foretoken {

class ClusterTopology {
 public:
  /// Adds the cluster's links to `network`.
  ClusterTopology(const ClusterSpec& cluster, FlowNetwork& network);

  [[nodiscard]] const ClusterSpec& cluster() const { return cluster_; }

  /// Between two GPUs of one node.
  [[nodiscard]] Route route_inside(GpuId from, GpuId to) const;

  /// Between GPUs of different nodes, out of NIC `from_nic` of the one and into `to_nic` of the
  /// other (counted in their nodes). An nvswitch GPU reaches another GPU's NIC over its port.
  [[nodiscard]] Route route_between(GpuId from, int from_nic, GpuId to, int to_nic) const;

  /// The NICs next to a GPU, counted in its node.
  [[nodiscard]] std::vector<int> own_nics(GpuId gpu) const;

 private:
  struct Duplex {
    LinkIndex out = 0, in = 0;
  };

  void check_gpu(GpuId gpu) const;
  void append_fabric(Route& route, int from_nic, int to_nic) const;  // NICs of the whole cluster
  [[nodiscard]] bool uses_port(GpuId gpu, int nic) const;
  [[nodiscard]] bool has_bridge() const;

  ClusterSpec cluster_;
  std::vector<Duplex> ports_;    // by GPU; none in a node of one
  std::vector<Duplex> bridges_;  // by node; pcie with a host bandwidth only
  std::vector<Duplex> nics_;     // by node, then NIC
  std::vector<Duplex> uplinks_;  // by leaf; fat_tree only
};

}  // namespace foretoken
