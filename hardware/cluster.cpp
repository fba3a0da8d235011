// Reads cluster specs: TOML with the GPU's name, [node] and [fabric], or with [groups] of nodes
// that are named as clusters of their own, into the plain ClusterSpec, and checks that what is
// joined has links to be joined by. Names like "h200-sxm-8x4" are cluster_name.cpp's, plausibility
// is cluster_check.cpp's.
#include "hardware/cluster.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "hardware/node_wiring.hpp"
#include "hardware/spec_source.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

// Four times the largest clusters of 2025, twice the largest NVLink domain announced (576), and
// the widest servers; so that links can be counted in 32 bits and a slip of the keyboard is
// noticed.
constexpr int nodes_max = 100'000;
constexpr int per_node_max = 1'024;
constexpr int sockets_max = 16;
constexpr int routers_max = 256;
constexpr std::int64_t fabric_links_max = 100'000'000;

void expect_at_most(TableReader& table, std::string_view key, int value, int limit) {
  table.expect(key, value <= limit, fmt::format("must be at most {}", limit));
}

/// The measured fabric most like this one: the link's kind, then the GPU's generation.
std::string usual_protocols(NodeLink link, const GpuSpec& gpu) {
  if (link == NodeLink::pcie || link == NodeLink::single) return "pcie";
  if (link == NodeLink::pairwise) return "nvswitch-ampere";  // wires of NVLink, no switch that adds
  if (gpu.architecture == "hopper") return "nvswitch-hopper";
  if (gpu.architecture.starts_with("blackwell")) return "nvswitch-blackwell";
  return "nvswitch-ampere";
}

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
void require_above_zero(TableReader& table, std::string_view key, Quantity<Dimension>& out) {
  if (table.require(key, out)) table.expect(key, out.value() > 0.0, "must be greater than 0");
}

/// Reports `key` where the value was given though `applies` does not hold; `hint` ends the message.
template <class T>
void read_where(TableReader& table, std::string_view key, T& out, bool applies,
                std::string_view where, std::string_view hint = "") {
  const bool given = table.find(key) != nullptr;
  table.read(key, out);
  table.expect(key, applies || !given, fmt::format("is for {} only{}", where, hint));
}

void require_count(TableReader& table, std::string_view key, int& out) {
  if (table.require(key, out)) table.expect(key, out >= 1, "must be at least 1");
}

void expect_not_negative(TableReader& table, std::string_view key, BytesPerSecond rate) {
  table.expect(key, rate.value() >= 0.0, "must not be negative");
}

/// "2-3" as two GPUs of the node; nullopt if it is anything else.
std::optional<GpuPair> parse_pair(std::string_view text, int gpus) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  GpuPair pair;
  const auto parse = [gpus](std::string_view digits, int& out) {
    const char* end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, out);
    return result.ec == std::errc() && result.ptr == end && out >= 0 && out < gpus;
  };
  const bool fine = parse(text.substr(0, dash), pair.first) &&
                    parse(text.substr(dash + 1), pair.second) && pair.first != pair.second;
  return fine ? std::optional(pair) : std::nullopt;
}

/// Pairs that are listed several times are joined by as many wires.
void read_pairs(TableReader& table, NodeSpec& node) {
  std::vector<std::string> texts;
  read_where(table, "pairs", texts, node.link == NodeLink::pairwise, "link = \"pairwise\"");
  for (const std::string& text : texts) {
    const auto pair = parse_pair(text, node.gpus);
    table.expect(
        "pairs", pair.has_value(),
        fmt::format("'{}' does not name two GPUs of the node; write \"0-1\" with numbers from 0 "
                    "to {}",
                    text, node.gpus - 1));
    if (pair) node.pairs.push_back(*pair);
  }
}

/// What a GPU's own file says of one link.
BytesPerSecond usual_bandwidth(const GpuSpec& gpu, const NodeSpec& node) {
  switch (node.link) {
    case NodeLink::single:
      return {};
    case NodeLink::nvswitch:
      return gpu.nvlink_bandwidth;
    case NodeLink::pairwise:  // a mesh shares out what the GPU has
      return node.pairs.empty() && node.gpus > 1 ? gpu.nvlink_bandwidth / (node.gpus - 1.0)
                                                 : BytesPerSecond();
    case NodeLink::pcie:
      break;
  }
  return gpu.pcie_bandwidth;
}

void read_node_link(TableReader& table, const GpuSpec& gpu, NodeSpec& node) {
  if (node.gpus > 1) {
    table.require("link", node.link);
    table.expect("link", node.link != NodeLink::single,
                 "\"single\" is for one GPU; write \"nvswitch\", \"pairwise\" or \"pcie\"");
  } else {
    table.read("link", node.link);
  }
  read_pairs(table, node);
  node.link_bandwidth = usual_bandwidth(gpu, node);
  if (table.read("link_bandwidth", node.link_bandwidth)) {
    table.expect("link_bandwidth", node.link_bandwidth.value() > 0.0, "must be greater than 0");
  } else if (!node.pairs.empty()) {
    table.fail("link_bandwidth", "is missing; give that of one link, in one direction");
  } else if (node.link != NodeLink::single && !gpu.name.empty()) {
    table.expect("link", node.link_bandwidth.value() > 0.0 || node.gpus == 1,
                 fmt::format("{} has no NVLink; write \"pcie\", or give link_bandwidth", gpu.name));
  }
  if (node.link == NodeLink::single) {
    table.read("link_latency", node.link_latency);
  } else {
    require_above_zero(table, "link_latency", node.link_latency);
  }
  read_share(table, "link_efficiency", node.link_efficiency);
}

/// Two GPUs that neither a wire nor one GPU between them joins, if there are such.
std::optional<GpuPair> first_pair_over_pcie(const NodeSpec& node) {
  if (node.link != NodeLink::pairwise) return std::nullopt;
  const NodeWiring wiring(node, false);
  for (int a = 0; a < node.gpus; ++a)
    for (int b = a + 1; b < node.gpus; ++b)
      if (wiring.way(a, b) > NodeWiring::Way::relay) return GpuPair{a, b};
  return std::nullopt;
}

/// The PCIe tree: the node's links where link is "pcie", else what stands beside them.
void read_pcie(TableReader& table, const GpuSpec& gpu, NodeSpec& node) {
  const bool is_pcie = node.link == NodeLink::pcie;
  NicPlace place{};
  if (table.read("nics_at", place)) {
    node.nics_at = place;
    table.expect("nics_at", !is_pcie || node.nics_at != NicPlace::gpu,
                 "\"gpu\" is for GPUs with NVLink; write \"switch\" or \"host\"");
  }
  const auto over_pcie = first_pair_over_pcie(node);
  const bool carries = over_pcie.has_value() || node.nic_place() != NicPlace::gpu;
  if (carries && !is_pcie) node.pcie_bandwidth = gpu.pcie_bandwidth;
  const auto beside = [&](std::string_view key, auto& out) {
    read_where(table, key, out, !is_pcie, "nodes with other links",
               fmt::format("; here write link_{}", key.substr(5)));
  };
  beside("pcie_bandwidth", node.pcie_bandwidth);
  expect_not_negative(table, "pcie_bandwidth", node.pcie_bandwidth);
  beside("pcie_latency", node.pcie_latency);
  beside("pcie_efficiency", node.pcie_efficiency);
  table.expect("pcie_efficiency", node.pcie_efficiency > 0.0 && node.pcie_efficiency <= 1.0,
               "must be above 0 and at most 1");
  if (over_pcie) {
    table.expect("pcie_latency", node.pcie_latency.value() > 0.0,
                 fmt::format("is missing: GPUs {} and {} are joined neither directly nor via one "
                             "GPU, so they communicate over PCIe",
                             over_pcie->first, over_pcie->second));
  }
  table.read("gpus_per_switch", node.gpus_per_switch);
  table.expect("gpus_per_switch", node.gpus_per_switch >= 0, "must not be negative");
  table.expect("nics_at", node.nics_at != NicPlace::pcie_switch || node.gpus_per_switch > 0,
               "is \"switch\", but gpus_per_switch defines none");
  read_where(table, "switch_bandwidth", node.switch_bandwidth, node.gpus_per_switch > 0,
             "nodes with gpus_per_switch");
  expect_not_negative(table, "switch_bandwidth", node.switch_bandwidth);
  table.read("sockets", node.sockets);
  table.expect("sockets", node.sockets >= 1, "must be at least 1");
  expect_at_most(table, "sockets", node.sockets, sockets_max);
  table.read("host_bandwidth", node.host_bandwidth);
  expect_not_negative(table, "host_bandwidth", node.host_bandwidth);
  read_where(table, "socket_bandwidth", node.socket_bandwidth, node.sockets > 1,
             "nodes with several sockets");
  expect_not_negative(table, "socket_bandwidth", node.socket_bandwidth);
}

/// The way to the host's memory. A PCIe tree is that way already.
void read_host(TableReader& table, const GpuSpec& gpu, NodeSpec& node) {
  const bool has_tree = node.link == NodeLink::pcie || node.pcie_bandwidth.value() > 0.0;
  table.read("host_memory", node.host_memory);
  table.expect("host_memory", node.host_memory.value() >= 0.0, "must not be negative");
  node.host_link_bandwidth = gpu.pcie_bandwidth;
  const auto own = [&](std::string_view key, auto& out) {
    read_where(table, key, out, !has_tree, "nodes whose GPUs have their own link to the host",
               "; here copies take the PCIe tree");
  };
  own("host_link_bandwidth", node.host_link_bandwidth);
  table.expect("host_link_bandwidth", gpu.name.empty() || node.host_link_bandwidth.value() > 0.0,
               "must be greater than 0");
  own("host_link_efficiency", node.host_link_efficiency);
  table.expect("host_link_efficiency",
               node.host_link_efficiency > 0.0 && node.host_link_efficiency <= 1.0,
               "must be above 0 and at most 1");
  table.read("host_link_latency", node.host_link_latency);
  table.expect("host_link_latency", node.host_link_latency.value() >= 0.0, "must not be negative");
}

/// `protocols = "name"` of a table, else the default's.
FabricCosts read_protocols(TableReader& table, const std::string& usual) {
  std::string name = usual;
  FabricCosts costs;
  table.read("protocols", name);
  const SourcePosition position = table.position("protocols");
  table.diagnostics().attempt([&] { costs = load_fabric(resolved(name, position), position); });
  return costs;
}

void read_node(TableReader table, const GpuSpec& gpu, int nodes, NodeSpec& node,
               FabricCosts& protocols) {
  if (table.require("gpus", node.gpus)) {
    table.expect("gpus", node.gpus >= 1, "must be at least 1");
    expect_at_most(table, "gpus", node.gpus, per_node_max);
    node.gpus = std::clamp(node.gpus, 1, per_node_max);
  }
  table.read("trays", node.trays);
  table.expect("trays", node.trays >= 1 && node.gpus % std::max(1, node.trays) == 0,
               fmt::format("must divide the node's {} GPUs", node.gpus));
  read_node_link(table, gpu, node);
  read_pcie(table, gpu, node);
  read_host(table, gpu, node);
  table.read("nics", node.nics);
  table.expect("nics", node.nics >= 0, "must not be negative");
  expect_at_most(table, "nics", node.nics, per_node_max);
  table.expect(
      "nics", nodes <= 1 || node.nics > 0,
      fmt::format("is 0, but {} nodes need network cards; give nics and nic_bandwidth", nodes));
  if (node.nics > 0) {
    require_above_zero(table, "nic_bandwidth", node.nic_bandwidth);
  } else {
    table.read("nic_bandwidth", node.nic_bandwidth);
  }
  read_share(table, "nic_efficiency", node.nic_efficiency);
  protocols = read_protocols(table, usual_protocols(node.link, gpu));
  table.finish();
}

void read_tree(TableReader& table, FabricSpec& fabric) {
  const bool is_fat = fabric.kind == FabricKind::fat_tree;
  const bool is_tree = is_fat || fabric.kind == FabricKind::rail_optimized;
  constexpr std::string_view trees = "kind = \"fat_tree\" and \"rail_optimized\"";
  constexpr std::string_view fat = "kind = \"fat_tree\"";
  const auto read_ratio = [&](std::string_view key, double& out, bool applies,
                              std::string_view where) {
    read_where(table, key, out, applies, where);
    table.expect(key, out >= 1.0, "must be at least 1 (1 is a non-blocking tree)");
  };
  read_ratio("oversubscription", fabric.oversubscription, is_tree, trees);
  if (is_fat) {
    require_count(table, "nodes_per_leaf", fabric.nodes_per_leaf);
    expect_at_most(table, "nodes_per_leaf", fabric.nodes_per_leaf, nodes_max);
  } else {
    read_where(table, "nodes_per_leaf", fabric.nodes_per_leaf, is_tree, trees);
    table.expect("nodes_per_leaf", fabric.nodes_per_leaf >= 0, "must not be negative");
    expect_at_most(table, "nodes_per_leaf", fabric.nodes_per_leaf, nodes_max);
  }
  read_where(table, "leaves_per_pod", fabric.leaves_per_pod, is_fat, fat);
  table.expect("leaves_per_pod", fabric.leaves_per_pod >= 0, "must not be negative");
  expect_at_most(table, "leaves_per_pod", fabric.leaves_per_pod, nodes_max);
  read_ratio("pod_oversubscription", fabric.pod_oversubscription, fabric.leaves_per_pod > 0,
             "a fat tree with leaves_per_pod");
}

void read_dragonfly(TableReader& table, int nodes, FabricSpec& fabric) {
  const bool is_dragonfly = fabric.kind == FabricKind::dragonfly;
  constexpr std::string_view dragonfly = "kind = \"dragonfly\"";
  if (!is_dragonfly) {
    read_where(table, "nodes_per_router", fabric.nodes_per_router, false, dragonfly);
    read_where(table, "routers_per_group", fabric.routers_per_group, false, dragonfly);
    read_where(table, "global_links_per_router", fabric.global_links_per_router, false, dragonfly);
    read_where(table, "local_bandwidth", fabric.local_bandwidth, false, dragonfly);
    read_where(table, "global_bandwidth", fabric.global_bandwidth, false, dragonfly);
    return;
  }
  require_count(table, "nodes_per_router", fabric.nodes_per_router);
  require_count(table, "routers_per_group", fabric.routers_per_group);
  require_count(table, "global_links_per_router", fabric.global_links_per_router);
  require_above_zero(table, "local_bandwidth", fabric.local_bandwidth);
  require_above_zero(table, "global_bandwidth", fabric.global_bandwidth);
  const std::int64_t group_nodes =
      std::int64_t{1} * fabric.nodes_per_router * fabric.routers_per_group;
  if (group_nodes < 1) return;
  const std::int64_t others = (nodes + group_nodes - 1) / group_nodes - 1;
  const std::int64_t links =
      std::int64_t{1} * fabric.routers_per_group * fabric.global_links_per_router;
  table.expect("global_links_per_router", links >= others,
               fmt::format("gives a group {} global links, too few to reach its {} other groups; "
                           "raise it, or put more nodes into a group",
                           links, others));
  expect_at_most(table, "nodes_per_router", fabric.nodes_per_router, nodes_max);
  expect_at_most(table, "routers_per_group", fabric.routers_per_group, routers_max);
  expect_at_most(table, "global_links_per_router", fabric.global_links_per_router, routers_max);
  const std::int64_t groups = others + 1;
  const std::int64_t routers = std::min(fabric.routers_per_group, routers_max);
  const std::int64_t fabric_links =
      std::min<std::int64_t>(groups, nodes_max) * others + groups * routers * (routers - 1);
  table.expect("routers_per_group", fabric_links <= fabric_links_max,
               fmt::format("makes {} groups with {} links between routers, beyond {}; put more "
                           "nodes into a group",
                           groups, fabric_links, fabric_links_max));
}

void read_torus(TableReader& table, int nodes, FabricSpec& fabric) {
  constexpr std::string_view torus = "kind = \"torus\"";
  if (fabric.kind != FabricKind::torus) {
    read_where(table, "dimensions", fabric.dimensions, false, torus);
    read_where(table, "link_bandwidth", fabric.link_bandwidth, false, torus);
    return;
  }
  if (table.require("dimensions", fabric.dimensions)) {
    std::int64_t product = fabric.dimensions.empty() ? 0 : 1;
    for (const int size : fabric.dimensions) {
      product = std::min<std::int64_t>(product * std::max(0, size), 1'000'000'000);
    }
    table.expect("dimensions", fabric.dimensions.size() <= 8, "must be 8 numbers or fewer");
    table.expect("dimensions", product == nodes,
                 fmt::format("make a torus of {} nodes, but nodes is {}", product, nodes));
  }
  require_above_zero(table, "link_bandwidth", fabric.link_bandwidth);
}

void read_fabric(TableReader table, int nodes, FabricSpec& fabric, FabricCosts& protocols) {
  table.read("kind", fabric.kind);
  table.expect("kind", nodes <= 1 || fabric.kind != FabricKind::none,
               fmt::format("is \"none\", but {} nodes need a network; write \"single_switch\", "
                           "\"rail_optimized\", \"fat_tree\", \"dragonfly\" or \"torus\"",
                           nodes));
  if (fabric.kind == FabricKind::none) {
    table.read("latency", fabric.latency);
  } else {
    require_above_zero(table, "latency", fabric.latency);
  }
  table.read("switch_latency", fabric.switch_latency);
  table.expect("switch_latency", fabric.switch_latency.value() >= 0.0, "must not be negative");
  read_tree(table, fabric);
  read_dragonfly(table, nodes, fabric);
  read_torus(table, nodes, fabric);
  protocols = read_protocols(table, "rdma");
  table.finish();
}

void read_gpu_of(TableReader& top, ClusterSpec& cluster) {
  std::string gpu;
  if (!top.require("gpu", gpu)) return;
  const SourcePosition position = top.position("gpu");
  top.diagnostics().attempt([&] { cluster.gpu = load_gpu(resolved(gpu, position), position); });
}

/// "fast = \"h200-sxm-8x2\"": nodes, GPUs and links of that cluster; its fabric is left behind.
void read_group(TableReader& table, const std::string& name, ClusterSpec& cluster) {
  std::string like;
  if (!table.read(name, like)) return;
  const SourcePosition position = table.position(name);
  table.diagnostics().attempt([&] {
    const std::string of = resolved(like, position);
    // Told before it is read: a file that names itself would never end.
    if (is_spec_path(of) && load_spec_file(of, "cluster", position).find("groups") != nullptr)
      throw ConfigError(
          position,
          fmt::format("{} consists of groups itself; name a cluster with identical nodes", of));
    ClusterSpec nodes = load_cluster(of, position);
    if (nodes.node.nics == 0) {
      throw ConfigError(
          position,
          fmt::format("the nodes of {} have no network cards, which they need to reach other "
                      "groups; give nics and nic_bandwidth in their own cluster file",
                      nodes.name));
    }
    cluster.groups.push_back({name, std::move(nodes.gpu), nodes.nodes, std::move(nodes.node),
                              std::move(nodes.comm.inside)});
  });
}

void read_groups(TableReader& top, const Value& groups, ClusterSpec& cluster) {
  for (const char* key : {"gpu", "nodes", "node"}) {
    top.expect(key, top.find(key) == nullptr, "belongs in the clusters that [groups] names");
  }
  TableReader table(groups, top.diagnostics(), "groups");
  for (const auto& [name, like] : std::get<ValueObject>(groups.data)) {
    (void)like;
    read_group(table, name, cluster);
  }
  if (!top.diagnostics().empty()) return;
  top.expect("groups", !cluster.groups.empty(), "must name at least one group");
  cluster.nodes = 0;
  for (const NodeGroup& group : cluster.groups)
    cluster.nodes = std::min(cluster.nodes + group.nodes, nodes_max + 1);
  expect_at_most(top, "groups", cluster.nodes, nodes_max);
  if (!cluster.groups.empty()) {
    cluster = cluster.seen_from(0);
  }
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
  const auto table_of = [&](std::string_view key) {
    return spec_table(top.find(key) == nullptr ? nullptr : top.find_table(key), root);
  };
  if (top.find("groups") != nullptr) {
    read_groups(top, table_of("groups"), cluster);
  } else {
    read_gpu_of(top, cluster);
    top.read("nodes", cluster.nodes);
    top.expect("nodes", cluster.nodes >= 1, "must be at least 1");
    expect_at_most(top, "nodes", cluster.nodes, nodes_max);
    const Value node = table_of("node");
    read_node(TableReader(node, diagnostics, "node"), cluster.gpu, cluster.nodes, cluster.node,
              cluster.comm.inside);
  }
  const Value fabric = table_of("fabric");
  read_fabric(TableReader(fabric, diagnostics, "fabric"), cluster.nodes, cluster.fabric,
              cluster.comm.across);
  top.finish();
  diagnostics.throw_if_any();
  return cluster;
}

}  // namespace foretoken
