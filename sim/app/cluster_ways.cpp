#include "sim/app/cluster_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hardware/wiring.hpp"
#include "kernels/communication/collectives.hpp"
#include "kernels/communication/group_traffic.hpp"
#include "sim/base/unit_text.hpp"

namespace foretoken {
namespace {

// A table of ways from one GPU stays readable to this many lines; what lies between is left out.
constexpr std::size_t ways_shown_max = 8;
// Rates of the whole cluster at once are found by going over all its GPUs.
constexpr int gpus_summed_max = 20'000;

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
      return "a link";
    case NodeWiring::Way::nvswitch:
      return "NVSwitch";
    case NodeWiring::Way::relay:
      return "links via another GPU";
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

std::vector<GpuId> gpus_from(GpuId first, int count) {
  std::vector<GpuId> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back({first.value + static_cast<std::uint32_t>(i)});
  return gpus;
}

}  // namespace

std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string gigabytes(BytesPerSecond rate) {
  if (rate.value() >= 1e13) return fmt::format("{:.3g} TB/s", rate.value() / 1e12);
  return fmt::format("{:.4g} GB/s", rate.value() / 1e9);
}

std::string reach_text(const ClusterSpec& cluster, const TextTable::Layout& layout) {
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
  return table.text(layout);
}

std::string rates_text(const ClusterSpec& cluster, const TextTable::Layout& layout) {
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
    const std::string who = fmt::format("each of the {} GPUs of a node{}", gpus, where);
    if (gpus > 1) row(who, cluster.first_gpu(number), gpus);
  };
  for (std::size_t i = 0; i < cluster.groups.size(); ++i)
    node_row(" of " + cluster.groups[i].name, cluster.nodes_of(i).first);
  if (cluster.groups.empty()) node_row("", 0);
  if (cluster.nodes > 1 && cluster.gpu_count() <= gpus_summed_max)
    row(fmt::format("each of the {} GPUs", cluster.gpu_count()), {0}, cluster.gpu_count());
  return table.text(layout);
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
  return fmt::format("  Between the halves of the cluster: {}, {} of the NICs' bandwidth.\n",
                     gigabytes(is_cut ? cut : sent), whole_percent(is_cut ? cut / sent : 1));
}

}  // namespace foretoken
