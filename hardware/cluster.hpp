// How GPUs are wired: nodes, the links inside a node, network cards, and the fabric between nodes.
// A cluster is a TOML file, or a name "<gpu>-<GPUs a node>[x<nodes>]" that takes the defaults of
// the GPU's usual chassis (specs/clusters/, `chassis_of`). What it leaves out: time and contention;
// sim/platform turns a ClusterSpec into SimGrid links.
#pragma once

#include <string>
#include <vector>

#include "hardware/gpu.hpp"
#include "sim/base/ids.hpp"

namespace foretoken {

/// nvswitch: every GPU has its full NVLink rate to every other, links private to a pair of ports.
/// pcie: GPUs share the host bridge. single: one GPU, no links.
enum class NodeLink { single, nvswitch, pcie };
template <>
struct EnumNames<NodeLink> {
  static constexpr auto names = std::to_array<std::string_view>({"single", "nvswitch", "pcie"});
};

/// single_switch: all NICs on one non-blocking switch. rail_optimized: NIC i of every node on
/// switch i, rails joined by a spine. fat_tree: leaf switches with `oversubscription` towards the
/// spine.
enum class FabricKind { none, single_switch, rail_optimized, fat_tree };
template <>
struct EnumNames<FabricKind> {
  static constexpr auto names =
      std::to_array<std::string_view>({"none", "single_switch", "rail_optimized", "fat_tree"});
};

struct NodeSpec {
  int gpus = 1;
  NodeLink link = NodeLink::single;
  BytesPerSecond link_bandwidth;  // per GPU and direction, payload rate of the wire
  Seconds link_latency;           // GPU to GPU, one message
  double link_efficiency = 1.0;   // share of link_bandwidth that large transfers reach
  BytesPerSecond host_bandwidth;  // pcie: the bridge all GPUs share, per direction; 0 = no limit
  int nics = 0;
  BytesPerSecond nic_bandwidth;  // per NIC and direction
  double nic_efficiency = 1.0;
};

struct FabricSpec {
  FabricKind kind = FabricKind::none;
  Seconds latency;                // node to node, one message, NICs and switches included
  double oversubscription = 1.0;  // fat_tree: leaf downlink to uplink ratio
  int nodes_per_leaf = 0;         // fat_tree
};

struct ClusterSpec {
  std::string name;
  GpuSpec gpu;
  int nodes = 1;
  NodeSpec node;
  FabricSpec fabric;

  [[nodiscard]] int gpu_count() const { return nodes * node.gpus; }
  [[nodiscard]] int node_of(GpuId gpu_id) const {
    return static_cast<int>(gpu_id.value) / node.gpus;
  }
};

/// Names of the clusters inside the program, sorted. Any "<gpu>-<n>[x<m>]" works besides.
std::vector<std::string> cluster_names();

/// A built-in cluster by name, "<gpu>-<GPUs a node>[x<nodes>]" with any counts, or a TOML path.
ClusterSpec load_cluster(const std::string& name_or_path, const SourcePosition& asked_at);

ClusterSpec read_cluster(const Value& root);

/// `gpus` GPUs wired as the GPU's usual chassis, on as few nodes as that takes. A GPU that is not
/// built in gets the NVSwitch server of the H200 or, without NVLink, the PCIe server of the L40S, at
/// its own link rates.
ClusterSpec usual_cluster(const GpuSpec& gpu, int gpus);

}  // namespace foretoken
