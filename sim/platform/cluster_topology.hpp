// A cluster's wiring (hardware/wiring.hpp) put into the flow network: every link of the one is a
// link of the other under the same number, so that a route is a route of flows. What it leaves out:
// latency inside the network (callers add it), and SMs that copy.
#pragma once

#include <vector>

#include "hardware/cluster.hpp"
#include "hardware/wiring.hpp"
#include "sim/base/ids.hpp"
#include "sim/platform/flow_network.hpp"

namespace foretoken {

class ClusterTopology {
 public:
  /// Adds the cluster's links to `network`, which must have none yet.
  ClusterTopology(const ClusterSpec& cluster, FlowNetwork& network);
  ClusterTopology(const ClusterTopology&) = delete;
  ClusterTopology& operator=(const ClusterTopology&) = delete;

  [[nodiscard]] const ClusterSpec& cluster() const { return cluster_; }
  [[nodiscard]] const Wiring& wiring() const { return wiring_; }
  void set_nic(int node, int nic, bool is_up) { wiring_.set_nic(node, nic, is_up); }
  void set_link(LinkIndex link, bool is_up) { wiring_.set_link(link, is_up); }

  /// As Wiring's.
  [[nodiscard]] Route route_inside(GpuId from, GpuId to) const {
    return wiring_.route_inside(from, to);
  }
  [[nodiscard]] Route route_between(GpuId from, int from_nic, GpuId to, int to_nic) const {
    return wiring_.route_between(from, from_nic, to, to_nic);
  }
  [[nodiscard]] std::vector<int> own_nics(GpuId gpu) const { return wiring_.own_nics(gpu); }

 private:
  ClusterSpec cluster_;
  Wiring wiring_;
};

}  // namespace foretoken
