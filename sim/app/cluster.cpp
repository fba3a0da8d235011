// foretoken cluster: the clusters that are known, one in full (as text or as a drawing for
// Graphviz), and a check of a TOML file. Any "<gpu>-<GPUs a node>[x<nodes>]" works besides the
// names that are listed.

#include "hardware/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "hardware/wiring.hpp"
#include "kernels/communication/collectives.hpp"
#include "kernels/communication/group_traffic.hpp"
#include "sim/app/findings.hpp"
#include "sim/app/spec_value.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/terminal.hpp"
#include "sim/base/json.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

// A table of ways from one GPU stays readable to this many lines; what lies between is left out.
constexpr std::size_t ways_shown_max = 8;
// Rates of the whole cluster at once are found by going over all its GPUs.
constexpr int gpus_summed_max = 20'000;

TextTable::Layout layout() {
  return {.width = terminal_width(stdout), .colour = shows_colour(stdout), .kept = 1};
}

std::string gigabytes(BytesPerSecond rate) {
  if (rate.value() >= 1e13) return fmt::format("{:.3g} TB/s", rate.value() / 1e12);
  return fmt::format("{:.4g} GB/s", rate.value() / 1e9);
}

std::string link_text(const NodeSpec& node) {
  if (node.link == NodeLink::single) return "-";
  return fmt::format("{} {}", enum_name(node.link), gigabytes(node.link_bandwidth));
}

std::string nics_in_short(const NodeSpec& node) {
  return fmt::format("{} x {} a node", node.nics, gigabytes(node.nic_bandwidth));
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
  show("{}  Any <gpu>-<GPUs a node>[x<nodes>] works too: h100-sxm-4, h200-sxm-8x16 ...\n",
       table.text(layout()));
  return 0;
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

/// What joins the GPUs of a node, as wired.
std::string node_link_text(const NodeSpec& node) {
  const std::string rate = fmt::format("{}, {} of it reached", gigabytes(node.link_bandwidth),
                                       percent(node.link_efficiency));
  switch (node.link) {
    case NodeLink::single:
      break;
    case NodeLink::nvswitch:
      return "NVSwitch, a GPU " + rate;
    case NodeLink::pairwise:
      return node.pairs.empty() ? "a wire between every two, each " + rate
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
                      fmt::format("a GPU {}, {} of it reached", gigabytes(node.pcie_bandwidth),
                                  percent(node.pcie_efficiency)));
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
  return fmt::format("{} a node, {} each, {} of it reached, {}", node.nics,
                     gigabytes(node.nic_bandwidth), percent(node.nic_efficiency),
                     places[static_cast<std::size_t>(node.nic_place())]);
}

std::string host_text(const NodeSpec& node) {
  const std::string size =
      node.host_memory.value() > 0 ? readable(node.host_memory) + " a node" : "size not given";
  if (node.link == NodeLink::pcie || node.pcie_bandwidth.value() > 0) {
    return size + ", over the PCIe tree";
  }
  return fmt::format("{}, a GPU {}, {} of it reached", size, gigabytes(node.host_link_bandwidth),
                     percent(node.host_link_efficiency));
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
      return {{"fabric", "one switch that never blocks"}};
    case FabricKind::rail_optimized:
      return {
          {"fabric", fmt::format("{} rails over {} nodes, joined by a spine, {}", rails_of(cluster),
                                 fabric.nodes_per_leaf > 0 ? fabric.nodes_per_leaf : cluster.nodes,
                                 ratio_text(fabric.oversubscription))}};
    case FabricKind::fat_tree: {
      Rows rows = {{"fabric", fmt::format("fat tree, {} nodes a leaf, {}", fabric.nodes_per_leaf,
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

/// How GPU 0 reaches GPUs of one kind, with the first of them.
struct Reach {
  std::string way;
  GpuId first;
  int gpus = 1;
  BytesPerSecond rate;  // alone
  Seconds latency;
};

std::string_view way_text(NodeWiring::Way way) {
  switch (way) {
    case NodeWiring::Way::wire:
      return "a wire";
    case NodeWiring::Way::nvswitch:
      return "NVSwitch";
    case NodeWiring::Way::relay:
      return "wires over a GPU between";
    case NodeWiring::Way::pcie_switch:
      return "the same PCIe switch";
    case NodeWiring::Way::bridge:
      return "the host bridge";
    case NodeWiring::Way::sockets:
      break;
  }
  return "the other socket's bridge";
}

std::string fabric_way_text(FabricKind kind, int further) {
  switch (kind) {
    case FabricKind::dragonfly:
      return further == 0 ? "network: the same router" : fmt::format("network: {} hop(s)", further);
    case FabricKind::torus:
      return fmt::format("network: {} hop(s)", further + 1);
    case FabricKind::rail_optimized:
    case FabricKind::fat_tree:
      return further == 0   ? "network: the same leaf"
             : further == 2 ? "network: over the spine"
                            : "network: over the core";
    default:
      return "network";
  }
}

Reach reach_of(const Wiring& wiring, GpuId to) {
  const ClusterSpec& cluster = wiring.cluster();
  Reach reach;
  reach.first = to;
  reach.rate = full_rate(wiring, send_traffic(wiring, {0}, to).shares);
  reach.latency = wiring.latency({0}, to);
  const int node = cluster.node_of(to);
  if (node == 0) {
    reach.way = way_text(wiring.node_at(0).way(0, static_cast<int>(to.value)));
  } else {
    const int rail = wiring.own_nics(to).front();
    reach.way = fabric_way_text(cluster.fabric.kind,
                                wiring.fabric().further_switches({0, 0}, {node, rail}));
  }
  return reach;
}

/// The kinds of GPUs that GPU 0 sees: all of its node, the GPU in its place on every other node
/// and, where it matters, the one on the next rail.
std::vector<Reach> reaches(const ClusterSpec& cluster) {
  const Wiring wiring(cluster);
  const auto gpus = static_cast<std::uint32_t>(cluster.node_at(0).gpus);
  std::vector<GpuId> others;
  for (std::uint32_t gpu = 1; gpu < gpus; ++gpu) others.push_back({gpu});
  for (int node = 1; node < cluster.nodes; ++node) others.push_back(cluster.first_gpu(node));
  const bool has_next_rail = cluster.nodes > 1 && cluster.node_at(1).gpus > 1;
  if (cluster.fabric.kind == FabricKind::rail_optimized && has_next_rail)
    others.push_back({gpus + 1});
  std::vector<Reach> kinds;
  for (const GpuId to : others) {
    const Reach reach = reach_of(wiring, to);
    const auto same = std::ranges::find_if(kinds, [&](const Reach& kind) {
      return kind.way == reach.way && kind.rate == reach.rate && kind.latency == reach.latency;
    });
    if (same == kinds.end()) {
      kinds.push_back(reach);
    } else {
      ++same->gpus;
    }
  }
  std::ranges::stable_sort(kinds, {}, &Reach::latency);
  return kinds;
}

std::string reach_text(const ClusterSpec& cluster) {
  TextTable table({{"from GPU 0 to", Align::left},
                   {"over", Align::left},
                   {"one transfer", Align::right},
                   {"latency", Align::right}});
  const std::vector<Reach> kinds = reaches(cluster);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds.size() > ways_shown_max && i + 2 > ways_shown_max && i + 1 < kinds.size()) {
      if (i + 2 == ways_shown_max) table.add_row({"...", "", "", ""});
      continue;
    }
    const Reach& reach = kinds[i];
    const std::string node =
        cluster.nodes > 1 ? fmt::format(" (node {})", cluster.node_of(reach.first)) : "";
    table.add_row({fmt::format("GPU {}{}", reach.first.value, node), reach.way,
                   gigabytes(reach.rate), readable(reach.latency)});
  }
  return table.text(layout());
}

std::vector<GpuId> gpus_from(GpuId first, int count) {
  std::vector<GpuId> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back({first.value + static_cast<std::uint32_t>(i)});
  return gpus;
}

/// What each GPU has when all are busy.
std::string rates_text(const ClusterSpec& cluster) {
  TextTable table(
      {{"all at once", Align::left}, {"ring", Align::right}, {"exchange", Align::right}});
  const auto row = [&](const std::string& who, GpuId first, int gpus) {
    const GroupLinks links = group_links(cluster, gpus_from(first, gpus));
    const bool own_rate = links.exchange_bandwidth.value() > 0;
    table.add_row({who, gigabytes(links.bandwidth),
                   gigabytes(own_rate ? links.exchange_bandwidth : links.bandwidth)});
  };
  const auto node_row = [&](const std::string& where, int number) {
    const int gpus = cluster.node_at(number).gpus;
    const std::string who = fmt::format("the {} GPUs of a node{}, each", gpus, where);
    if (gpus > 1) row(who, cluster.first_gpu(number), gpus);
  };
  for (std::size_t i = 0; i < cluster.groups.size(); ++i)
    node_row(" of " + cluster.groups[i].name, cluster.nodes_of(i).first);
  if (cluster.groups.empty()) node_row("", 0);
  if (cluster.nodes > 1 && cluster.gpu_count() <= gpus_summed_max)
    row(fmt::format("all {} GPUs, each", cluster.gpu_count()), {0}, cluster.gpu_count());
  return table.text(layout());
}

std::string bisection_text(const ClusterSpec& cluster) {
  const auto sent_by = [](const NodeSpec& node, double nodes) {
    return node.nic_bandwidth * (node.nic_efficiency * node.nics * nodes);
  };
  BytesPerSecond sent;
  for (const NodeGroup& group : cluster.groups) sent += sent_by(group.node, group.nodes / 2.0);
  if (cluster.groups.empty()) sent = sent_by(cluster.node, cluster.nodes / 2);
  const BytesPerSecond cut = FabricWiring(cluster).bisection();
  const bool is_cut = cut.value() > 0 && cut < sent;
  return fmt::format("  Between the halves of the cluster: {}, {} of what the NICs send.\n",
                     gigabytes(is_cut ? cut : sent), percent(is_cut ? cut / sent : 1));
}

int show_cluster(const std::string& name) {
  const ClusterSpec cluster = load_cluster(name, {"cluster show"});
  show("{}\n{}", Ink(shows_colour(stdout)).strong(cluster.name), spec_text(cluster));
  if (cluster.gpu_count() == 1) return 0;
  show("\n{}\n{}", reach_text(cluster), rates_text(cluster));
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
