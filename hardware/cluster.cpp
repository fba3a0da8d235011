// Reads cluster specs: TOML with the GPU's name, [node] and [fabric], into the plain ClusterSpec,
// and checks that what is joined has links to be joined by. Names like "h200-sxm-8x4" are
// cluster_name.cpp's.
#include "hardware/cluster.hpp"

#include <filesystem>

#include "hardware/spec_source.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

/// A GPU's file stands relative to the cluster's.
std::string resolved(const std::string& gpu, const SourcePosition& position) {
  if (!is_spec_path(gpu)) return gpu;
  return (std::filesystem::path(position.file).parent_path() / gpu).lexically_normal().string();
}

void read_share(TableReader& table, std::string_view key, double& out) {
  table.read(key, out);
  table.expect(key, out > 0.0 && out <= 1.0, "must be above 0 and at most 1");
}

template <class Dimension>
void require_positive(TableReader& table, std::string_view key, Quantity<Dimension>& out) {
  if (table.require(key, out)) table.expect(key, out.value() > 0.0, "must be greater than 0");
}

void read_node_link(TableReader& table, const GpuSpec& gpu, NodeSpec& node) {
  if (node.gpus > 1) {
    table.require("link", node.link);
    table.expect("link", node.link != NodeLink::single,
                 "\"single\" is for one GPU; write \"nvswitch\" or \"pcie\"");
  } else {
    table.read("link", node.link);
  }
  const bool is_nvswitch = node.link == NodeLink::nvswitch;
  node.link_bandwidth = node.link == NodeLink::single ? BytesPerSecond()
                        : is_nvswitch                 ? gpu.nvlink_bandwidth
                                                      : gpu.pcie_bandwidth;
  if (table.read("link_bandwidth", node.link_bandwidth)) {
    table.expect("link_bandwidth", node.link_bandwidth.value() > 0.0, "must be greater than 0");
  } else if (is_nvswitch && !gpu.name.empty()) {
    table.expect("link", gpu.nvlink_bandwidth.value() > 0.0,
                 fmt::format("{} has no NVLink; write \"pcie\", or give link_bandwidth", gpu.name));
  }
  if (node.link == NodeLink::single) {
    table.read("link_latency", node.link_latency);
  } else {
    require_positive(table, "link_latency", node.link_latency);
  }
  read_share(table, "link_efficiency", node.link_efficiency);
  table.read("host_bandwidth", node.host_bandwidth);
  table.expect("host_bandwidth", node.host_bandwidth.value() >= 0.0, "must not be negative");
}

void read_node(TableReader table, const GpuSpec& gpu, int nodes, NodeSpec& node) {
  if (table.require("gpus", node.gpus)) {
    table.expect("gpus", node.gpus >= 1, "must be at least 1");
  }
  read_node_link(table, gpu, node);
  table.read("nics", node.nics);
  table.expect("nics", node.nics >= 0, "must not be negative");
  table.expect(
      "nics", nodes <= 1 || node.nics > 0,
      fmt::format("is 0, but {} nodes need network cards; give nics and nic_bandwidth", nodes));
  if (node.nics > 0) {
    require_positive(table, "nic_bandwidth", node.nic_bandwidth);
  } else {
    table.read("nic_bandwidth", node.nic_bandwidth);
  }
  read_share(table, "nic_efficiency", node.nic_efficiency);
  table.finish();
}

void read_fabric(TableReader table, int nodes, FabricSpec& fabric) {
  table.read("kind", fabric.kind);
  table.expect("kind", nodes <= 1 || fabric.kind != FabricKind::none,
               fmt::format("is \"none\", but {} nodes need a network; write \"single_switch\", "
                           "\"rail_optimized\" or \"fat_tree\"",
                           nodes));
  if (fabric.kind == FabricKind::none) {
    table.read("latency", fabric.latency);
  } else {
    require_positive(table, "latency", fabric.latency);
  }
  table.read("oversubscription", fabric.oversubscription);
  table.expect("oversubscription", fabric.oversubscription >= 1.0,
               "must be at least 1 (1 is a non-blocking tree)");
  if (fabric.kind == FabricKind::fat_tree) {
    if (table.require("nodes_per_leaf", fabric.nodes_per_leaf)) {
      table.expect("nodes_per_leaf", fabric.nodes_per_leaf >= 1, "must be at least 1");
    }
  } else {
    table.read("nodes_per_leaf", fabric.nodes_per_leaf);
    table.expect("oversubscription", fabric.oversubscription == 1.0,
                 "is for kind = \"fat_tree\" only");
    table.expect("nodes_per_leaf", fabric.nodes_per_leaf == 0, "is for kind = \"fat_tree\" only");
  }
  table.finish();
}

void read_gpu_of(TableReader& top, ClusterSpec& cluster) {
  std::string gpu;
  if (!top.require("gpu", gpu)) return;
  const SourcePosition position = top.position("gpu");
  top.diagnostics().attempt([&] { cluster.gpu = load_gpu(resolved(gpu, position), position); });
}

}  // namespace

ClusterSpec read_cluster(const Value& root) {
  Diagnostics diagnostics;
  TableReader top(root, diagnostics, "");
  ClusterSpec cluster;
  if (top.require("name", cluster.name)) {
    top.expect("name", is_spec_name(cluster.name),
               "must be lower-case letters, digits, '-', '_' and '.', and not end in .toml");
  }
  read_gpu_of(top, cluster);
  top.read("nodes", cluster.nodes);
  top.expect("nodes", cluster.nodes >= 1, "must be at least 1");
  const auto table_of = [&](std::string_view key) {
    return spec_table(top.find(key) == nullptr ? nullptr : top.find_table(key), root);
  };
  const Value node = table_of("node");
  read_node(TableReader(node, diagnostics, "node"), cluster.gpu, cluster.nodes, cluster.node);
  const Value fabric = table_of("fabric");
  read_fabric(TableReader(fabric, diagnostics, "fabric"), cluster.nodes, cluster.fabric);
  top.finish();
  diagnostics.throw_if_any();
  return cluster;
}

}  // namespace foretoken
