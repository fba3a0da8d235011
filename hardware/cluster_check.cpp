// Is a cluster plausible? Findings and never an exception, in the way of gpu_check.cpp: rates
// against the GPU's own file and the rates that cards are sold with (a figure in bits read as bytes
// is 8 times off, one that counts both directions 2 times), latencies and efficiencies against what
// is measured on networks of any kind, and what the counts mean for those who share. What cannot be
// wired at all is no finding but a mistake of the file, which cluster.cpp reports.
#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/cluster.hpp"
#include "hardware/fabric_wiring.hpp"
#include "hardware/node_wiring.hpp"

namespace foretoken {
namespace {

using Level = Finding::Level;

// Line rates of Ethernet, InfiniBand and Slingshot cards, Gb/s (IEEE 802.3, IBTA SDR to GDR).
constexpr auto card_rates = std::to_array<double>({10, 25, 40, 50, 56, 100, 200, 400, 800, 1600});
constexpr double rate_tolerance = 0.03;  // 56 Gb/s FDR is 54.3, 63.0 GB/s of PCIe is written 64

// Messages between GPUs, us: 1.3 to 4 fitted in the built-in chassis and 2 to 10 over RDMA; a
// factor of 3 to 5 beyond is unheard of. One switch takes 0.1 (InfiniBand NDR) to 1 (deep-buffer
// Ethernet).
struct LatencyRange {
  double low, high;  // us
};
constexpr LatencyRange link_latencies = {0.3, 20};
constexpr LatencyRange fabric_latencies = {1, 50};
constexpr LatencyRange switch_latencies = {0.05, 5};
constexpr double latency_error_factor = 20;

// Large collectives reach 0.64 (PCIe through a host) to 0.92 (InfiniBand) of the wire in the
// built-in chassis.
constexpr double efficiency_low = 0.3;

// The largest ratio that vendors' reference designs of training and inference clusters have is 4.
constexpr double oversubscription_high = 8;

bool is_near(double value, double reference) {
  return std::abs(value - reference) <= rate_tolerance * reference;
}

bool is_card_rate(double gigabits) {
  return std::ranges::any_of(card_rates, [&](double rate) { return is_near(gigabits, rate); });
}

std::string gigabytes(double rate) { return fmt::format("{:.4g} GB/s", rate / 1e9); }

class Checker {
 public:
  explicit Checker(const ClusterSpec& cluster)
      : cluster_(cluster), node_(cluster.node), fabric_(cluster.fabric) {}

  std::vector<Finding> run() {
    check_node_links();
    check_pcie();
    check_nics();
    check_latencies();
    check_efficiencies();
    check_tree();
    check_bisection();
    std::ranges::stable_sort(findings_, {}, &Finding::level);
    return std::move(findings_);
  }

 private:
  void add(Level level, std::string_view key, std::string message) {
    findings_.push_back({level, std::string(key), std::move(message)});
  }

  /// `rate` of what the GPU's file says is `limit`.
  void check_against_gpu(std::string_view key, std::string_view what, double rate,
                         std::string_view limit_key, double limit) {
    if (limit <= 0 || rate <= 0) return;
    const double ratio = rate / limit;
    if (std::abs(ratio - 1) <= rate_tolerance) return;
    const std::string beyond =
        fmt::format("{} {}, {:.3g} times that of {} ({} = {})", what, gigabytes(rate), ratio,
                    cluster_.gpu.name, limit_key, gigabytes(limit));
    if (is_near(ratio, 2)) {
      add(Level::error, key, beyond + "; vendors add up both directions: write one");
    } else if (is_near(ratio, 8)) {
      add(Level::error, key, beyond + "; write Gb/s if the figure is in bits");
    } else if (ratio > 1) {
      add(Level::error, key, beyond + "; check the number and its unit, or the GPU's file");
    } else if (ratio < 0.1) {
      add(Level::warning, key, beyond + "; check the number and its unit");
    } else {
      add(Level::note, key, beyond);
    }
  }

  void check_node_links() {
    if (node_.gpus == 1) return;
    const double one = node_.link_bandwidth.value();
    switch (node_.link) {
      case NodeLink::single:
        break;
      case NodeLink::nvswitch:
        check_against_gpu("node.link_bandwidth", "a port of", one, "nvlink_bandwidth",
                          cluster_.gpu.nvlink_bandwidth.value());
        break;
      case NodeLink::pairwise:
        check_wires(one);
        break;
      case NodeLink::pcie:
        check_against_gpu("node.link_bandwidth", "a link of", one, "pcie_bandwidth",
                          cluster_.gpu.pcie_bandwidth.value());
        break;
    }
  }

  void check_wires(double one) {
    const NodeWiring wiring(node_, false);
    int most = 0;
    for (int gpu = 0; gpu < node_.gpus; ++gpu) {
      int wires = 0;
      for (int other = 0; other < node_.gpus; ++other) wires += wiring.wires(gpu, other);
      most = std::max(most, wires);
      if (wires == 0) {
        add(Level::warning, "node.pairs",
            fmt::format("GPU {} has no link; it reaches the others over PCIe only", gpu));
      }
    }
    check_against_gpu("node.link_bandwidth", fmt::format("{} link(s) of a GPU carry", most),
                      most * one, "nvlink_bandwidth", cluster_.gpu.nvlink_bandwidth.value());
  }

  void check_pcie() {
    const bool is_pcie = node_.link == NodeLink::pcie;
    const double own = (is_pcie ? node_.link_bandwidth : node_.pcie_bandwidth).value();
    if (!is_pcie) {
      check_against_gpu("node.pcie_bandwidth", "a link of", own, "pcie_bandwidth",
                        cluster_.gpu.pcie_bandwidth.value());
    }
    if (own <= 0) return;
    const double reached = own * (is_pcie ? node_.link_efficiency : node_.pcie_efficiency);
    const auto check_shared = [&](std::string_view key, BytesPerSecond rate,
                                  std::string_view what) {
      if (rate.value() <= 0 || rate.value() >= reached * (1 - rate_tolerance)) return;
      add(Level::warning, key,
          fmt::format("{} is less than the {} that one GPU's link reaches, though {} carries "
                      "several; check "
                      "the number and its unit",
                      gigabytes(rate.value()), gigabytes(reached), what));
    };
    check_shared("node.host_bandwidth", node_.host_bandwidth, "a host bridge");
    check_shared("node.switch_bandwidth", node_.switch_bandwidth, "a switch's uplink");
    if (node_.gpus_per_switch > node_.gpus) {
      add(Level::warning, "node.gpus_per_switch",
          fmt::format("{} GPUs per switch, but the node has {}", node_.gpus_per_switch,
                      node_.gpus));
    }
    if (node_.sockets > node_.gpus) {
      add(Level::warning, "node.sockets",
          fmt::format("{} sockets for {} GPUs: some have none", node_.sockets, node_.gpus));
    }
  }

  void check_nics() {
    if (node_.nics == 0) return;
    check_card_rate();
    const int gpus = node_.gpus;
    if (gpus % node_.nics != 0 && node_.nics % gpus != 0) {
      add(Level::warning, "node.nics",
          fmt::format("{} cards do not divide over {} GPUs: some share a card and others do not",
                      node_.nics, gpus));
    }
    if (node_.nics % node_.trays != 0) {
      add(Level::warning, "node.nics",
          fmt::format("{} cards do not divide over {} trays", node_.nics, node_.trays));
    }
    if (node_.nics > 2 * gpus) {
      add(Level::warning, "node.nics",
          fmt::format("{} cards for {} GPUs; nodes have at most two per GPU", node_.nics, gpus));
    }
    if (cluster_.nodes == 1 && fabric_.kind == FabricKind::none) {
      add(Level::note, "node.nics", "a single node without a fabric uses no network card");
    }
  }

  void check_card_rate() {
    const double rate = node_.nic_bandwidth.value();
    const double gigabits = rate * 8 / 1e9;
    const double slot = cluster_.gpu.pcie_bandwidth.value();
    const std::string text = gigabytes(rate);
    if (is_card_rate(gigabits)) {
      // A card a PCIe generation ahead of the GPU is usual, one that is two ahead is not.
      if (slot > 0 && rate > slot * (1 + rate_tolerance)) {
        add(rate > 2 * slot ? Level::warning : Level::note, "node.nic_bandwidth",
            fmt::format("{} is more than {}'s PCIe carries ({}); a card of {:.4g} Gb/s is written "
                        "\"{:.4g} Gb/s\"",
                        text, cluster_.gpu.name, gigabytes(slot), gigabits / 8, gigabits / 8));
      }
      return;
    }
    for (const auto& [factor, what] :
         {std::pair(1 / 8.0, "bits, not bytes"), std::pair(1e-3, "1,000 times less"),
          std::pair(1e3, "1,000 times more"), std::pair(1 / 2.0, "one direction, not both")}) {
      if (!is_card_rate(gigabits * factor)) continue;
      add(factor == 0.5 ? Level::warning : Level::error, "node.nic_bandwidth",
          fmt::format("{} is not a rate of network cards, but {:.4g} Gb/s is ({}): check the unit",
                      text, gigabits * factor, what));
      return;
    }
    const bool beyond = gigabits < card_rates.front() || gigabits > card_rates.back();
    add(beyond ? Level::warning : Level::note, "node.nic_bandwidth",
        fmt::format("{} ({:.4g} Gb/s) is not a rate that network cards are sold with", text,
                    gigabits));
  }

  void check_latency(std::string_view key, Seconds latency, const LatencyRange& range,
                     std::string_view what) {
    const double us = latency.value() * 1e6;
    if (us <= 0) return;
    const double factor = std::max(range.low / us, us / range.high);
    if (factor <= 1) return;
    add(factor > latency_error_factor ? Level::error : Level::warning, key,
        fmt::format("{:.4g} us is {} {} takes ({} to {} us); check the number and its unit", us,
                    us < range.low ? "less than" : "more than", what, range.low, range.high));
  }

  void check_latencies() {
    if (node_.gpus > 1) {
      check_latency("node.link_latency", node_.link_latency, link_latencies,
                    "a message between two GPUs of a node");
      check_latency("node.pcie_latency", node_.pcie_latency, link_latencies,
                    "a message between two GPUs of a node");
    }
    if (fabric_.kind == FabricKind::none) return;
    check_latency("fabric.latency", fabric_.latency, fabric_latencies, "a message between nodes");
    check_latency("fabric.switch_latency", fabric_.switch_latency, switch_latencies,
                  "passing one switch");
    if (node_.gpus > 1 && fabric_.latency < node_.link_latency) {
      add(Level::warning, "fabric.latency",
          fmt::format("{:.3g} us between nodes is less than the {:.3g} us inside a node",
                      fabric_.latency.value() * 1e6, node_.link_latency.value() * 1e6));
    }
  }

  void check_efficiency(std::string_view key, double efficiency) {
    if (efficiency == 1.0) {
      add(Level::note, key,
          "is 1: payload at the link's full rate; large transfers reach 0.6 to 0.95 of it");
    } else if (efficiency < efficiency_low) {
      add(Level::warning, key,
          fmt::format("{:.3g} is low; large transfers reach 0.6 to 0.95 of the link's rate",
                      efficiency));
    }
  }

  void check_efficiencies() {
    if (node_.gpus > 1) check_efficiency("node.link_efficiency", node_.link_efficiency);
    if (node_.link != NodeLink::pcie && node_.pcie_bandwidth.value() > 0)
      check_efficiency("node.pcie_efficiency", node_.pcie_efficiency);
    if (node_.nics > 0) check_efficiency("node.nic_efficiency", node_.nic_efficiency);
  }

  void check_tree() {
    const auto check_ratio = [&](std::string_view key, double ratio) {
      if (ratio <= oversubscription_high) return;
      add(Level::warning, key,
          fmt::format("{:.4g} to 1; AI clusters are built with 1 to 4", ratio));
    };
    check_ratio("fabric.oversubscription", fabric_.oversubscription);
    check_ratio("fabric.pod_oversubscription", fabric_.pod_oversubscription);
    const int leaf = fabric_.nodes_per_leaf;
    if (leaf <= 0) return;
    if (cluster_.nodes <= leaf && fabric_.kind == FabricKind::fat_tree) {
      add(Level::note, "fabric.nodes_per_leaf",
          fmt::format("all {} node(s) are on one leaf of {}: nothing crosses the spine",
                      cluster_.nodes, leaf));
    } else if (cluster_.nodes % leaf != 0 && cluster_.nodes > leaf) {
      add(Level::note, "fabric.nodes_per_leaf",
          fmt::format("the last leaf has {} of {} nodes", cluster_.nodes % leaf, leaf));
    }
  }

  void check_bisection() {
    if (cluster_.nodes == 1 || fabric_.kind == FabricKind::none) return;
    const double cut = FabricWiring(cluster_).bisection().value();
    double half = 0;  // of what all cards send
    for (int i = 0; i < cluster_.nodes; ++i) {
      const NodeSpec& node = cluster_.node_at(i);
      half += 0.5 * node.nics * node.nic_bandwidth.value() * node.nic_efficiency;
    }
    if (cut <= 0 || half <= 1.05 * cut) return;
    const double ratio = half / cut;
    add(ratio > oversubscription_high ? Level::warning : Level::note, "fabric.kind",
        fmt::format("{} carries {} between the halves of the cluster, {:.3g} times less than their "
                    "network cards send",
                    enum_name(fabric_.kind), gigabytes(cut), ratio));
  }

  const ClusterSpec& cluster_;
  const NodeSpec& node_;
  const FabricSpec& fabric_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_cluster(const ClusterSpec& cluster) {
  if (cluster.groups.empty()) return Checker(cluster).run();
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
    const ClusterSpec seen = cluster.seen_from(i);
    for (Finding& finding : Checker(seen).run()) {
      // What is said of the fabric is said once; of nodes, with their group's name.
      if (finding.key.starts_with("node.")) {
        finding.key = fmt::format("groups.{}: {}", cluster.groups[i].name, finding.key);
      } else if (i > 0) {
        continue;
      }
      findings.push_back(std::move(finding));
    }
  }
  std::ranges::stable_sort(findings, {}, &Finding::level);
  return findings;
}

}  // namespace foretoken
