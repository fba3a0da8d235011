// The links of the network between nodes, and which of them a transfer takes from one NIC to
// another; the NICs themselves are the node's. Links are numbered from 0 within the fabric. Only
// what can hold traffic up is a link: switches do not block, and a stage that carries all that its
// NICs send (oversubscription 1) has none. Rules of the way:
//   rail_optimized, fat_tree   over the lowest stage that both stand under, spread evenly over its
//                              uplinks (adaptive routing)
//   dragonfly                  minimal: at most one local, one global and one local link. The
//   global
//                              links between two groups share their traffic evenly (adaptive
//                              routing); a node's place in its group says at whose router it gets
//                              on and off
//   torus                      dimension by dimension, the shorter way round
#pragma once

#include <string>
#include <vector>

#include "hardware/cluster.hpp"
#include "hardware/route.hpp"

namespace foretoken {

class FabricWiring {
 public:
  /// `cluster` must outlive the wiring.
  explicit FabricWiring(const ClusterSpec& cluster);

  [[nodiscard]] LinkIndex link_count() const { return link_count_; }
  [[nodiscard]] BytesPerSecond capacity(LinkIndex link) const;  // payload, one direction
  [[nodiscard]] std::string name(LinkIndex link) const;         // "leaf 3 out"

  /// A NIC: node, and number in the node (its rail).
  struct Nic {
    int node = 0, rail = 0;
  };
  void append(Route& route, LinkIndex base, Nic from, Nic to) const;

  /// Switches on the way beyond the ones between the nearest nodes.
  [[nodiscard]] int further_switches(Nic from, Nic to) const;

  /// What the fabric carries from any half of the nodes to the other where that is least, had the
  /// nodes NICs without limit; 0 = no limit of its own.
  [[nodiscard]] BytesPerSecond bisection() const;

  /// How nodes are numbered, the stage farthest from them first: {leaves, nodes of a leaf}, or the
  /// dimensions of a torus. The last leaf, pod or group may be filled in part.
  [[nodiscard]] std::vector<int> shape() const;

  /// Of a dragonfly.
  [[nodiscard]] int groups() const { return groups_; }
  [[nodiscard]] int global_links_per_pair() const { return global_links_; }

 private:
  [[nodiscard]] int leaf_of(Nic nic) const;
  [[nodiscard]] BytesPerSecond leaf_uplink(int leaf) const;
  [[nodiscard]] BytesPerSecond pod_uplink(int pod) const;
  [[nodiscard]] int pod_of(int leaf) const { return leaf / cluster_.fabric.leaves_per_pod; }
  [[nodiscard]] bool has_pods() const;
  void append_tree(Route& route, LinkIndex base, Nic from, Nic to) const;
  void append_dragonfly(Route& route, LinkIndex base, int from_node, int to_node) const;
  void append_torus(Route& route, LinkIndex base, int from_node, int to_node) const;
  void append_local(Route& route, LinkIndex base, int from_router, int to_router) const;
  [[nodiscard]] int gateway(int group, int other, int link) const;  // router in `group`
  [[nodiscard]] std::string torus_name(LinkIndex link) const;

  const ClusterSpec& cluster_;
  LinkIndex link_count_ = 0;
  int rails_ = 0;          // of the nodes with most NICs
  double efficiency_ = 1;  // of links that are no node's own: the least of the NICs'
  int leaves_ = 0, pods_ = 0;
  LinkIndex pod_links_ = 0;     // where they begin; leaves' begin at 0
  int groups_ = 0;              // dragonfly
  int global_links_ = 0;        // between two groups
  LinkIndex global_first_ = 0;  // where they begin; local ones begin at 0
};

}  // namespace foretoken
