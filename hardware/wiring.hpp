// All links of a cluster and the way through them between any two GPUs: the nodes' links side by
// side (node_wiring.hpp), then the fabric's (fabric_wiring.hpp). Everything is computed from the
// spec when asked for, so a wiring is made in a microsecond and has no table that grows with the
// cluster. It knows bandwidths and latencies, but neither time nor who else is sending.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hardware/cluster.hpp"
#include "hardware/fabric_wiring.hpp"
#include "hardware/node_wiring.hpp"
#include "hardware/route.hpp"
#include "sim/base/ids.hpp"

namespace foretoken {

class Wiring {
 public:
  /// `cluster` must outlive the wiring.
  explicit Wiring(const ClusterSpec& cluster);

  [[nodiscard]] const ClusterSpec& cluster() const { return cluster_; }
  [[nodiscard]] const NodeWiring& node_at(int node) const {
    return nodes_[cluster_.group_of(node)];
  }
  [[nodiscard]] const FabricWiring& fabric() const { return fabric_; }

  [[nodiscard]] LinkIndex link_count() const { return fabric_first_ + fabric_.link_count(); }
  /// Payload rate: bandwidth times the share that large transfers reach.
  [[nodiscard]] BytesPerSecond capacity(LinkIndex link) const;
  [[nodiscard]] std::string name(LinkIndex link) const;  // "node 2 gpu 3 out"

  /// Between two GPUs of one node, round links that are down. Some way must be left (checked).
  [[nodiscard]] Route route_inside(GpuId from, GpuId to) const;

  /// Between GPUs of different nodes, out of NIC `from_nic` of the one and into `to_nic` of the
  /// other (counted in their nodes), likewise.
  [[nodiscard]] Route route_between(GpuId from, int from_nic, GpuId to, int to_nic) const;

  /// Between a GPU and its host's memory; empty where the GPU has a link of its own.
  [[nodiscard]] Route route_to_host(GpuId gpu) const;
  [[nodiscard]] Route route_from_host(GpuId gpu) const;

  /// Of one message between two GPUs; across nodes, over the first NIC of each.
  [[nodiscard]] Seconds latency(GpuId from, GpuId to) const;
  /// The same between nodes over the NICs named.
  [[nodiscard]] Seconds latency_between(int from_node, int from_nic, int to_node, int to_nic) const;

  /// The NICs next to a GPU, counted in its node.
  [[nodiscard]] std::vector<int> own_nics(GpuId gpu) const;

  /// A network card that is down is on no way that is asked for from now on.
  void set_nic(int node, int nic, bool is_up);
  /// The node's NICs that are not down.
  [[nodiscard]] std::vector<int> nics_up(int node) const;

  /// A link inside a node that is down is on no way that is asked for from now on, if there is
  /// another. NICs are set_nic()'s.
  void set_link(LinkIndex link, bool is_up);
  /// Whether any traffic between nodes, or inside them, goes round what is down.
  [[nodiscard]] bool has_detours_between() const { return !down_.empty() || has_detours_inside(); }
  [[nodiscard]] bool has_detours_inside() const { return !down_links_.empty(); }
  /// The node that the link is in; nullopt: it is the fabric's, or a NIC's.
  [[nodiscard]] std::optional<int> node_around(LinkIndex link) const;
  /// All ports of the node's NVSwitch; none without one.
  [[nodiscard]] std::vector<LinkIndex> ports_of(int node) const;
  /// What the links of a node that are down leave without a way: "GPU 3 to GPU 0"; "": nothing.
  [[nodiscard]] std::string cut_off(int node) const;
  /// Wires from one GPU of a node to another that are not down.
  [[nodiscard]] int wires_up(GpuId from, GpuId to) const;

  /// Whether GPUs of the node that are not in `members` (by number in the node) use its link too.
  [[nodiscard]] bool is_shared(LinkIndex link, const std::vector<bool>& members) const;

  /// The GPU's number in its node.
  [[nodiscard]] int slot_of(GpuId gpu) const;

 private:
  void check_gpu(GpuId gpu) const;
  [[nodiscard]] LinkIndex base_of(int node) const;
  [[nodiscard]] int node_with(LinkIndex link) const;
  [[nodiscard]] bool is_whole(const Route& route) const;
  /// The first of them without a link that is down, else nullptr.
  [[nodiscard]] const Route* first_whole(const std::vector<Route>& ways) const;

  const ClusterSpec& cluster_;
  std::vector<NodeWiring> nodes_;       // of a node of each group
  std::vector<LinkIndex> group_first_;  // the groups' first links
  FabricWiring fabric_;
  LinkIndex fabric_first_;
  std::vector<std::pair<int, int>> down_;  // NICs, by node and number in it
  std::vector<LinkIndex> down_links_;      // inside nodes
};

}  // namespace foretoken
