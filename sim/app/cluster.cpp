// foretoken cluster: the clusters that are known, and one in full. Any "<gpu>-<GPUs a
// node>[x<nodes>]" works besides the names that are listed.

#include "hardware/cluster.hpp"

#include <fmt/format.h>

#include <memory>

#include "sim/app/subcommand.hpp"
#include "sim/app/terminal.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

TextTable::Layout layout() {
  return {.width = terminal_width(stdout), .colour = shows_colour(stdout)};
}

std::string gigabytes(BytesPerSecond rate) {
  return fmt::format("{:.0f} GB/s", rate.value() / 1e9);
}

std::string link_text(const NodeSpec& node) {
  if (node.link == NodeLink::single) return "-";
  return fmt::format("{} {}", enum_name(node.link), gigabytes(node.link_bandwidth));
}

std::string fabric_text(const ClusterSpec& cluster) {
  if (cluster.nodes == 1) return "-";
  return fmt::format("{}, {} NICs of {} a node", enum_name(cluster.fabric.kind), cluster.node.nics,
                     gigabytes(cluster.node.nic_bandwidth));
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
  fmt::print("{}  Any <gpu>-<GPUs a node>[x<nodes>] works too: h100-sxm-4, h200-sxm-8x16 ...\n",
             table.text(layout()));
  return 0;
}

int show_cluster(const std::string& name) {
  const ClusterSpec cluster = load_cluster(name, {"cluster show"});
  TextTable table({{"", Align::left}, {"", Align::left}});
  const auto row = [&](const char* key, const std::string& value) { table.add_row({key, value}); };
  row("GPUs", fmt::format("{} x {}", cluster.gpu_count(), cluster.gpu.title));
  row("nodes", fmt::format("{} of {} GPUs", cluster.nodes, cluster.node.gpus));
  row("in a node", link_text(cluster.node));
  if (cluster.node.link != NodeLink::single) {
    row("link latency", readable(cluster.node.link_latency));
    row("link efficiency", fmt::format("{:.0f} %", 100.0 * cluster.node.link_efficiency));
  }
  row("between nodes", fabric_text(cluster));
  if (cluster.nodes > 1) row("fabric latency", readable(cluster.fabric.latency));
  fmt::print("{}\n{}", Ink(shows_colour(stdout)).strong(cluster.name), table.text(layout()));
  return 0;
}

}  // namespace

void add_cluster(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("cluster", "List and show clusters");
  command->require_subcommand(1);
  command->add_subcommand("list", "All clusters inside the program")->callback([&chosen] {
    chosen = list_clusters;
  });
  auto name = std::make_shared<std::string>();
  CLI::App* show = command->add_subcommand("show", "One cluster in full");
  show->add_option("cluster", *name, "Name or TOML path")->required();
  show->callback([name, &chosen] { chosen = [name] { return show_cluster(*name); }; });
  command->footer(examples("  foretoken cluster list\n  foretoken cluster show h100-sxm-8x4"));
}

}  // namespace foretoken
