// foretoken cluster: the clusters that are known, one in full (as text or as a drawing for
// Graphviz), and a check of a TOML file. Any "<gpu>-<GPUs a node>[x<nodes>]" works besides the
// names that are listed.

#include "hardware/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "hardware/wiring.hpp"
#include "sim/app/cluster_ways.hpp"
#include "sim/app/findings.hpp"
#include "sim/app/spec_value.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

TextTable::Layout layout() {
  return {.width = terminal_width(stdout), .colour = shows_colour(stdout), .kept = 1};
}

std::string link_text(const NodeSpec& node) {
  if (node.link == NodeLink::single) return "-";
  return fmt::format("{} {}", enum_name(node.link), gigabytes(node.link_bandwidth));
}

std::string nics_in_short(const NodeSpec& node) {
  return fmt::format("{} x {} per node", node.nics, gigabytes(node.nic_bandwidth));
}

std::string fabric_text(const ClusterSpec& cluster) {
  if (cluster.nodes == 1) return "-";
  return fmt::format("{}, {}", enum_name(cluster.fabric.kind), nics_in_short(cluster.node));
}

int print_clusters_json() {
  ValueArray clusters;
  for (const std::string& name : cluster_names()) {
    clusters.emplace_back(cluster_value(load_cluster(name, {})));
  }
  show_data(to_json(clusters) + "\n");
  return 0;
}

int list_clusters() {
  TextTable table({{"name", Align::left},
                   {"GPUs", Align::right},
                   {"nodes", Align::right},
                   {"in a node", Align::left},
                   {"between nodes", Align::left}});
  for (const std::string& name : cluster_names()) {
    const ClusterSpec cluster = load_cluster(name, {});
    table.add_row({cluster.name, fmt::format("{}", cluster.gpu_count()),
                   fmt::format("{}", cluster.nodes), link_text(cluster.node),
                   fabric_text(cluster)});
  }
  show("{}  Any <gpu>-<GPUs per node>[x<nodes>] works too: h100-sxm-4, h200-sxm-8x16 ...\n",
       table.text(layout()));
  return 0;
}

/// What joins the GPUs of a node, as wired.
std::string node_link_text(const NodeSpec& node) {
  const std::string rate = fmt::format("{}, {} of it reached", gigabytes(node.link_bandwidth),
                                       whole_percent(node.link_efficiency));
  switch (node.link) {
    case NodeLink::single:
      break;
    case NodeLink::nvswitch:
      return "NVSwitch, per GPU " + rate;
    case NodeLink::pairwise:
      return node.pairs.empty() ? "a link between every pair, each " + rate
                                : fmt::format("{} wires, each {}", node.pairs.size(), rate);
    case NodeLink::pcie:
      return "PCIe, a GPU " + rate;
  }
  return "-";
}

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows tree_rows(const NodeSpec& node) {
  Rows rows;
  const auto limited = [](BytesPerSecond rate) {
    return rate.value() > 0 ? gigabytes(rate) : "no limit";
  };
  if (node.link != NodeLink::pcie) {
    rows.emplace_back("PCIe",
                      fmt::format("{} per GPU, {} of it reached", gigabytes(node.pcie_bandwidth),
                                  whole_percent(node.pcie_efficiency)));
  }
  if (node.gpus_per_switch > 0) {
    rows.emplace_back("PCIe switches", fmt::format("{} GPUs each, uplink {}", node.gpus_per_switch,
                                                   limited(node.switch_bandwidth)));
  }
  rows.emplace_back("host bridges",
                    fmt::format("{}, {} each", node.sockets, limited(node.host_bandwidth)));
  if (node.sockets > 1) rows.emplace_back("between sockets", limited(node.socket_bandwidth));
  return rows;
}

std::string nics_text(const NodeSpec& node) {
  constexpr auto places = std::to_array<std::string_view>(
      {"next to the GPUs", "on the PCIe switches", "on the host bridges"});
  return fmt::format("{} per node, {} each, {} of it reached, {}", node.nics,
                     gigabytes(node.nic_bandwidth), whole_percent(node.nic_efficiency),
                     places[static_cast<std::size_t>(node.nic_place())]);
}

std::string host_text(const NodeSpec& node) {
  const std::string size =
      node.host_memory.value() > 0 ? readable(node.host_memory) + " per node" : "size not given";
  if (node.link == NodeLink::pcie || node.pcie_bandwidth.value() > 0) {
    return size + ", over the PCIe tree";
  }
  return fmt::format("{}, {} per GPU, {} of it reached", size, gigabytes(node.host_link_bandwidth),
                     whole_percent(node.host_link_efficiency));
}

std::string ratio_text(double ratio) {
  return ratio == 1 ? "not oversubscribed" : fmt::format("oversubscribed {:.3g} to 1", ratio);
}

Rows dragonfly_rows(const ClusterSpec& cluster) {
  const FabricSpec& fabric = cluster.fabric;
  const FabricWiring wiring(cluster);
  Rows rows;
  rows.emplace_back(
      "fabric", fmt::format("dragonfly of {} groups; a group: {} routers of {} nodes",
                            wiring.groups(), fabric.routers_per_group, fabric.nodes_per_router));
  rows.emplace_back("between routers", gigabytes(fabric.local_bandwidth));
  if (wiring.groups() > 1) {
    rows.emplace_back("between groups",
                      fmt::format("{} links of {}", wiring.global_links_per_pair(),
                                  gigabytes(fabric.global_bandwidth)));
  }
  return rows;
}

int rails_of(const ClusterSpec& cluster) {
  int rails = cluster.node.nics;
  for (const NodeGroup& group : cluster.groups) rails = std::max(rails, group.node.nics);
  return rails;
}

Rows fabric_rows(const ClusterSpec& cluster) {
  const FabricSpec& fabric = cluster.fabric;
  switch (fabric.kind) {
    case FabricKind::none:
      return {};
    case FabricKind::single_switch:
      return {{"fabric", "one non-blocking switch"}};
    case FabricKind::rail_optimized:
      return {
          {"fabric", fmt::format("{} rails over {} nodes, joined by a spine, {}", rails_of(cluster),
                                 fabric.nodes_per_leaf > 0 ? fabric.nodes_per_leaf : cluster.nodes,
                                 ratio_text(fabric.oversubscription))}};
    case FabricKind::fat_tree: {
      Rows rows = {{"fabric", fmt::format("fat tree, {} nodes per leaf, {}", fabric.nodes_per_leaf,
                                          ratio_text(fabric.oversubscription))}};
      if (fabric.leaves_per_pod > 0) {
        rows.emplace_back("pods", fmt::format("{} leaves each, {}", fabric.leaves_per_pod,
                                              ratio_text(fabric.pod_oversubscription)));
      }
      return rows;
    }
    case FabricKind::dragonfly:
      return dragonfly_rows(cluster);
    case FabricKind::torus:
      break;
  }
  return {{"fabric",
           fmt::format("torus of {}, {} to each neighbour", fmt::join(fabric.dimensions, " x "),
                       gigabytes(fabric.link_bandwidth))}};
}

/// `count` equal nodes.
Rows node_rows(const GpuSpec& gpu, const NodeSpec& node, int count) {
  Rows rows;
  rows.emplace_back("GPUs", fmt::format("{} x {}", count * node.gpus, gpu.title));
  rows.emplace_back("nodes",
                    fmt::format("{} of {} GPUs{}", count, node.gpus,
                                node.trays > 1 ? fmt::format(" on {} trays", node.trays) : ""));
  if (node.gpus > 1) rows.emplace_back("in a node", node_link_text(node));
  if (node.link == NodeLink::pcie || node.pcie_bandwidth.value() > 0)
    std::ranges::copy(tree_rows(node), std::back_inserter(rows));
  rows.emplace_back("host memory", host_text(node));
  if (node.nics > 0) rows.emplace_back("network cards", nics_text(node));
  return rows;
}

std::string spec_text(const ClusterSpec& cluster) {
  TextTable table({{"", Align::left}, {.folds = true}});
  const auto rows = [&](const Rows& all) {
    for (const auto& [key, value] : all) table.add_row({key, value});
  };
  for (const NodeGroup& group : cluster.groups) {
    table.add_row({fmt::format("group {}", group.name), ""});
    rows(node_rows(group.gpu, group.node, group.nodes));
  }
  if (cluster.groups.empty()) rows(node_rows(cluster.gpu, cluster.node, cluster.nodes));
  if (!cluster.groups.empty()) table.add_row({"between nodes", ""});
  if (cluster.nodes > 1) rows(fabric_rows(cluster));
  return table.text(layout());
}

int show_cluster(const std::string& name) {
  const ClusterSpec cluster = load_cluster(name, {"cluster show"});
  show("{}\n{}", Ink(shows_colour(stdout)).strong(cluster.name), spec_text(cluster));
  if (cluster.gpu_count() == 1) return 0;
  show("\n{}\n{}", reach_text(cluster, layout()), rates_text(cluster, layout()));
  if (cluster.nodes > 1) show("{}", bisection_text(cluster));
  return 0;
}

int print_cluster_json(const std::string& name) {
  show_data(to_json(cluster_value(load_cluster(name, {"cluster show"}))) + "\n");
  return 0;
}

int draw_cluster(const std::string& name) {
  show_data(cluster_dot(load_cluster(name, {"cluster show"})));
  return 0;
}

int check_cluster_file(const std::string& path) {
  const ClusterSpec cluster = load_cluster(path, {"cluster check"});
  return print_findings(path, cluster.name, check_cluster(cluster));
}

}  // namespace

void add_cluster(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("cluster", "List, show and check clusters");
  command->require_subcommand(1);
  auto name = std::make_shared<std::string>();
  auto is_json = std::make_shared<bool>(false);
  CLI::App* list = command->add_subcommand("list", "List the built-in clusters");
  list->add_flag("--json", *is_json, "Print a JSON array");
  list->callback([is_json, &chosen] { chosen = *is_json ? print_clusters_json : list_clusters; });
  auto as_dot = std::make_shared<bool>(false);
  CLI::App* show =
      command->add_subcommand("show", "Show one cluster in full: wiring, rates, latencies");
  show->add_option("cluster", *name, "Name or TOML file")->required();
  CLI::Option* dot = show->add_flag("--dot", *as_dot, "Print a drawing for Graphviz instead");
  show->add_flag("--json", *is_json, "Print a JSON object")->excludes(dot);
  show->callback([name, as_dot, is_json, &chosen] {
    chosen = [name, as_dot, is_json] {
      if (*is_json) return print_cluster_json(*name);
      return *as_dot ? draw_cluster(*name) : show_cluster(*name);
    };
  });
  CLI::App* check = command->add_subcommand(
      "check", "Report what is implausible in a TOML file (status 1 if anything is)");
  check->add_option("file", *name, "TOML file")->required();
  check->callback([name, &chosen] { chosen = [name] { return check_cluster_file(*name); }; });
  command->footer(
      examples("  foretoken cluster list\n  foretoken cluster show h100-sxm-8x4\n"
               "  foretoken cluster show --dot mi300x-8 | dot -Tsvg > mi300x.svg\n"
               "  foretoken cluster check examples/clusters/cube_mesh.toml"));
}

}  // namespace foretoken
