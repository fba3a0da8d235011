// How GPUs are wired: nodes, the links inside a node, network cards, and the fabric between nodes.
// A cluster is a TOML file, or a name "<gpu>-<GPUs a node>[x<nodes>]" that takes the defaults of
// the GPU's usual chassis (specs/clusters/, `chassis_of`). Its nodes are equal, or come in groups
// of equal ones on one fabric. What it leaves out: time and contention; sim/platform turns a
// ClusterSpec into SimGrid links.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/comm_parameters.hpp"
#include "hardware/gpu.hpp"
#include "sim/base/ids.hpp"

namespace foretoken {

/// single: one GPU, no links. nvswitch: every GPU has its full NVLink rate to every other, over a
/// port of its own. pairwise: wires from GPU to GPU (`pairs`): a mesh of Infinity Fabric or NVLink,
/// a cube mesh, bridges that join two cards. pcie: a tree of PCIe switches, host bridges and
/// sockets.
enum class NodeLink { single, nvswitch, pairwise, pcie };
template <>
struct EnumNames<NodeLink> {
  static constexpr auto names =
      std::to_array<std::string_view>({"single", "nvswitch", "pairwise", "pcie"});
};

/// What a network card hangs on: next to its GPU, with PCIe between them never the limit; on the
/// PCIe switch of its GPU; on the host bridge of a socket.
enum class NicPlace { gpu, pcie_switch, host };
template <>
struct EnumNames<NicPlace> {
  static constexpr auto names = std::to_array<std::string_view>({"gpu", "switch", "host"});
};

/// single_switch: all NICs on one non-blocking switch. rail_optimized: NIC i of the nodes of a unit
/// on leaf switch i, leaves joined by a spine. fat_tree: nodes on leaf switches, joined by a spine,
/// or by the switches of a pod and those by a core. dragonfly: routers in groups, all routers of a
/// group and all groups joined to each other. torus: nodes joined to their neighbours in a grid
/// that closes on itself.
enum class FabricKind { none, single_switch, rail_optimized, fat_tree, dragonfly, torus };
template <>
struct EnumNames<FabricKind> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"none", "single_switch", "rail_optimized", "fat_tree", "dragonfly", "torus"});
};

/// `links` equal wires between two GPUs of a node.
struct GpuPair {
  int first = 0;
  int second = 0;
  int links = 1;
};

/// One node: the GPUs that reach each other without the network. Bandwidths are of one direction
/// and of the wire; times its efficiency they are what large transfers get.
struct NodeSpec {
  int gpus = 1;
  int trays = 1;  // hosts that the node consists of, 18 in an NVL72; GPUs and NICs divide evenly
  NodeLink link = NodeLink::single;
  BytesPerSecond link_bandwidth;  // nvswitch, pcie: of a GPU; pairwise: of one wire
  Seconds link_latency;           // GPU to GPU, one message
  double link_efficiency = 1.0;   // share of link_bandwidth that large transfers reach
  std::vector<GpuPair> pairs;     // pairwise; empty = every two GPUs, by one wire

  // PCIe beside other links: what GPUs take that no wire joins, and NICs that do not stand next to
  // a GPU. On a pcie node these three are link_bandwidth, link_latency and link_efficiency.
  BytesPerSecond pcie_bandwidth;  // of a GPU; 0 = PCIe carries nothing
  Seconds pcie_latency;
  double pcie_efficiency = 1.0;
  // The tree, payload rates as measured.
  int gpus_per_switch = 0;          // 0 = GPUs stand on the host bridges themselves
  BytesPerSecond switch_bandwidth;  // of a switch's uplink; 0 = no limit
  int sockets = 1;
  BytesPerSecond host_bandwidth;    // of a socket's bridge, shared by what passes it; 0 = no limit
  BytesPerSecond socket_bandwidth;  // from one socket to another; 0 = no limit

  // To the host's memory. Where there is a tree, copies climb it to the bridge of their socket;
  // elsewhere each GPU has this link to itself. Bandwidth and latency are of one direction.
  Bytes host_memory;                   // of the node; 0 = not known
  BytesPerSecond host_link_bandwidth;  // of a GPU
  double host_link_efficiency = 0.88;  // share of it that large copies of pinned memory reach
  Seconds host_link_latency{10e-6};    // of one copy, its launch included

  int nics = 0;
  BytesPerSecond nic_bandwidth;
  double nic_efficiency = 1.0;
  std::optional<NicPlace> nics_at;  // unless said: host on pcie nodes, else gpu

  [[nodiscard]] NicPlace nic_place() const {
    return nics_at.value_or(link == NodeLink::pcie ? NicPlace::host : NicPlace::gpu);
  }
};

/// The network. Its links carry nic_efficiency of their bandwidth.
struct FabricSpec {
  FabricKind kind = FabricKind::none;
  Seconds latency;         // between the nearest nodes, one message, NICs and their switch included
  Seconds switch_latency;  // of each further switch on the way

  double oversubscription = 1.0;  // fat_tree, rail_optimized: a leaf's downlinks to its uplinks
  int nodes_per_leaf = 0;         // fat_tree; rail_optimized: of a unit, 0 = all nodes
  int leaves_per_pod = 0;         // fat_tree of three levels; 0 = two levels
  double pod_oversubscription = 1.0;

  // dragonfly
  int nodes_per_router = 0;
  int routers_per_group = 0;
  int global_links_per_router = 0;  // shared out evenly over the other groups
  BytesPerSecond local_bandwidth;   // between two routers of a group
  BytesPerSecond global_bandwidth;  // of one global link

  // torus
  std::vector<int> dimensions;
  BytesPerSecond link_bandwidth;  // to each neighbour
};

/// Equal nodes of a cluster whose nodes differ.
struct NodeGroup {
  std::string name;
  GpuSpec gpu;
  int nodes = 1;
  NodeSpec node;
  FabricCosts inside;  // what collectives cost inside one of these nodes
};

struct ClusterSpec {
  std::string name;
  GpuSpec gpu;
  int nodes = 1;  // of all groups together
  NodeSpec node;
  FabricSpec fabric;
  CommParameters comm;  // what collectives cost on these links
  /// In the order in which nodes and GPUs are numbered; empty: all nodes are equal. Where there are
  /// groups, `gpu`, `node` and `comm.inside` are those of one: the first, or seen_from()'s.
  std::vector<NodeGroup> groups;

  [[nodiscard]] int gpu_count() const;
  [[nodiscard]] int node_of(GpuId gpu_id) const;
  [[nodiscard]] GpuId first_gpu(int of_node) const;
  /// The node called so by number; `node` where all are equal.
  [[nodiscard]] const NodeSpec& node_at(int number) const;
  /// 0 where there are no groups.
  [[nodiscard]] std::size_t group_of(int of_node) const;

  struct NodeRange {
    int first = 0, count = 0;
  };
  [[nodiscard]] NodeRange nodes_of(std::size_t group) const;
  /// The same cluster with `gpu`, `node` and `comm.inside` of that group.
  [[nodiscard]] ClusterSpec seen_from(std::size_t group) const;
};

/// Names of the clusters inside the program, sorted. Any "<gpu>-<n>[x<m>]" works besides.
std::vector<std::string> cluster_names();

/// A built-in cluster by name, "<gpu>-<GPUs a node>[x<nodes>]" with any counts, or a TOML path.
ClusterSpec load_cluster(const std::string& name_or_path, const SourcePosition& asked_at);

ClusterSpec read_cluster(const Value& root);

/// What is said of a spec file that could be read, be it a GPU's or a cluster's.
using Finding = GpuFinding;

/// Plausibility of a cluster: rates in bits taken for bytes or both directions for one, rates that
/// the GPU's own links do not have, NICs that do not divide over the GPUs, latencies and
/// efficiencies that no network has, how far the fabric falls short of its NICs. Empty: nothing
/// stands out.
std::vector<Finding> check_cluster(const ClusterSpec& cluster);

/// The cluster as a Graphviz graph: the wires of one node, then the fabric. Equal nodes, leaves and
/// groups are drawn once with their number, so that any cluster fits a page.
std::string cluster_dot(const ClusterSpec& cluster);

/// `gpus` GPUs wired as the GPU's usual chassis, on as few nodes as that takes. A GPU that is not
/// built in gets the NVSwitch server of the H200 or, without NVLink, the PCIe server of the L40S,
/// at its own link rates.
ClusterSpec usual_cluster(const GpuSpec& gpu, int gpus);

}  // namespace foretoken
