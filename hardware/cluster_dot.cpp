// Draws a cluster for Graphviz. One node is drawn wire by wire, up to 16 GPUs; what is equal to
// something drawn stands as one dashed box with its number. Labels are rates of the wire, one
// direction. Nodes in groups are one box a group: the cluster that a group is named after shows
// their wires.
#include <algorithm>

#include "hardware/cluster.hpp"
#include "hardware/fabric_wiring.hpp"
#include "hardware/node_wiring.hpp"

namespace foretoken {
namespace {

constexpr int gpus_drawn_max = 16;

std::string rate_text(BytesPerSecond rate) {
  return rate.value() > 0 ? fmt::format("{:.4g} GB/s", rate.value() / 1e9) : "no limit";
}

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

class Drawing {
 public:
  explicit Drawing(const ClusterSpec& cluster)
      : cluster_(cluster),
        node_(cluster.node),
        fabric_(cluster.fabric),
        wiring_(cluster.node, has_network()),
        folds_(cluster.node.gpus > gpus_drawn_max) {}

  std::string text() {
    line("graph \"{}\" {{", cluster_.name);
    line(
        "  graph [label=\"{}: {}\", labelloc=t, fontname=\"Helvetica\", rankdir=BT, "
        "nodesep=0.3, ranksep=0.6];",
        cluster_.name, gpus_text());
    line("  node [shape=box, style=filled, fillcolor=white, fontname=\"Helvetica\", fontsize=11];");
    line("  edge [fontname=\"Helvetica\", fontsize=9];");
    if (cluster_.groups.empty()) {
      draw_node();
      if (has_network()) draw_fabric();
    } else {
      draw_groups();
    }
    line("}}");
    return text_;
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += fmt::format(format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  void box(const std::string& id, const std::string& label, std::string_view colour) {
    line("  {} [label=\"{}\", fillcolor=\"{}\"];", id, label, colour);
  }

  /// Something that is drawn once for many.
  void folded(const std::string& id, const std::string& label) {
    line("  {} [label=\"{}\", style=\"dashed\"];", id, label);
  }

  void edge(const std::string& a, const std::string& b, const std::string& label = "",
            int wires = 1) {
    line("  {} -- {} [label=\"{}\", penwidth={}];", a, b, label, wires);
  }

  /// Puts `count` things beside each other, in order.
  void row(std::string_view what, int count) {
    if (count < 2) return;
    std::string names;
    for (int i = 0; i < count; ++i) names += fmt::format("{}{}{}", i > 0 ? " -- " : "", what, i);
    line("  {{ rank=same; {} [style=invis]; }}", names);
  }

  [[nodiscard]] bool has_network() const {
    return cluster_.nodes > 1 && cluster_.fabric.kind != FabricKind::none;
  }

  [[nodiscard]] std::string gpu(int number) const {
    return folds_ ? "gpus" : fmt::format("gpu{}", number);
  }
  [[nodiscard]] std::string nic(int number) const {
    return folds_ ? "nics" : fmt::format("nic{}", number);
  }

  [[nodiscard]] std::string gpus_text() const {
    if (cluster_.groups.empty())
      return fmt::format("{} x {}", cluster_.gpu_count(), cluster_.gpu.title);
    std::string text;
    for (const NodeGroup& group : cluster_.groups) {
      text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", group.nodes * group.node.gpus,
                          group.gpu.title);
    }
    return text;
  }

  void draw_groups() {
    box("fabric", fabric_text(), switch_colour);
    for (std::size_t i = 0; i < cluster_.groups.size(); ++i) {
      const NodeGroup& group = cluster_.groups[i];
      const NodeSpec& node = group.node;
      const std::string link =
          node.link == NodeLink::single
              ? ""
              : fmt::format("\\n{} {}", enum_name(node.link), rate_text(node.link_bandwidth));
      box(fmt::format("group{}", i),
          fmt::format("{}: {}\\n{} x {} each{}", group.name, plural(group.nodes, "node"), node.gpus,
                      group.gpu.title, link),
          gpu_colour);
      edge(fmt::format("group{}", i), "fabric",
           fmt::format("{} x {} x {}", group.nodes, node.nics, rate_text(node.nic_bandwidth)));
    }
  }

  [[nodiscard]] std::string fabric_text() const {
    std::string text(enum_name(fabric_.kind));
    if (fabric_.nodes_per_leaf > 0)
      text += fmt::format("\\n{} a leaf", plural(fabric_.nodes_per_leaf, "node"));
    if (fabric_.oversubscription > 1) text += "\\n" + ratio_text(fabric_.oversubscription);
    return text;
  }

  void draw_node() {
    line("  subgraph cluster_node {{");
    line("  label=\"{}{}\"; style=rounded; color=grey50;",
         cluster_.nodes == 1 ? "the node" : "one node",
         node_.trays > 1 ? fmt::format(" of {} trays", node_.trays) : "");
    if (folds_) {
      box("gpus", plural(node_.gpus, "GPU"), gpu_colour);
    } else {
      for (int i = 0; i < node_.gpus; ++i) box(gpu(i), fmt::format("GPU {}", i), gpu_colour);
      if (node_.pairs.empty()) row("gpu", node_.gpus);
    }
    if (node_.link == NodeLink::nvswitch && node_.gpus > 1) draw_nvswitch();
    if (node_.link == NodeLink::pairwise) draw_wires();
    if (node_.link == NodeLink::pcie || node_.pcie_bandwidth.value() > 0) draw_tree();
    if (has_network()) draw_nics();
    line("  }}");
  }

  void draw_nvswitch() {
    box("nvswitch", fmt::format("NVSwitch\\n{} per GPU", rate_text(node_.link_bandwidth)),
        switch_colour);
    join_gpus("nvswitch");
  }

  /// GPUs stand between `hub` and their cards.
  void join_gpus(const std::string& hub) {
    for (int i = 0; i < (folds_ ? 1 : node_.gpus); ++i)
      edge(hub, gpu(i), folds_ ? fmt::format("{} x", node_.gpus) : "");
  }

  void draw_wires() {
    if (node_.pairs.empty()) {  // 28 lines between 8 GPUs would say less
      box("mesh",
          fmt::format("full mesh\\na wire of {}\\nbetween every two",
                      rate_text(node_.link_bandwidth)),
          switch_colour);
      return join_gpus("mesh");
    }
    if (folds_) {
      return edge(
          "gpus", "gpus",
          fmt::format("{} wires of {}", node_.pairs.size(), rate_text(node_.link_bandwidth)));
    }
    bool is_labelled = false;
    for (int a = 0; a < node_.gpus; ++a) {
      for (int b = a + 1; b < node_.gpus; ++b) {
        const int wires = wiring_.wires(a, b);
        if (wires == 0) continue;
        edge(gpu(a), gpu(b), is_labelled ? "" : rate_text(node_.link_bandwidth) + " a wire", wires);
        is_labelled = true;
      }
    }
  }

  [[nodiscard]] int switch_of(int number) const { return number / node_.gpus_per_switch; }
  [[nodiscard]] int switch_count() const {
    return (node_.gpus + node_.gpus_per_switch - 1) / node_.gpus_per_switch;
  }

  /// What a GPU hangs on in the PCIe tree.
  [[nodiscard]] std::string tree_parent(int number) const {
    if (folds_) return "socket0";
    if (node_.gpus_per_switch > 0) return fmt::format("switch{}", switch_of(number));
    return fmt::format("socket{}", number * node_.sockets / node_.gpus);
  }

  void draw_tree() {
    const BytesPerSecond own =
        node_.link == NodeLink::pcie ? node_.link_bandwidth : node_.pcie_bandwidth;
    const int sockets = folds_ ? 1 : node_.sockets;
    for (int i = 0; i < sockets; ++i) {
      box(fmt::format("socket{}", i),
          fmt::format("host bridge {}\\n{}", i, rate_text(node_.host_bandwidth)), bridge_colour);
      if (i > 0) edge("socket0", fmt::format("socket{}", i), rate_text(node_.socket_bandwidth));
    }
    row("socket", sockets);
    if (node_.gpus_per_switch > 0 && !folds_) {
      for (int i = 0; i < switch_count(); ++i) {
        const std::string id = fmt::format("switch{}", i);
        box(id, fmt::format("PCIe switch {}", i), bridge_colour);
        edge(id, fmt::format("socket{}", i * sockets / switch_count()),
             rate_text(node_.switch_bandwidth));
      }
    }
    for (int i = 0; i < (folds_ ? 1 : node_.gpus); ++i)
      edge(gpu(i), tree_parent(i), i == 0 ? rate_text(own) : "");
  }

  void draw_nics() {
    if (folds_) {
      box("nics",
          fmt::format("{}\\n{} each", plural(node_.nics, "NIC"), rate_text(node_.nic_bandwidth)),
          nic_colour);
      return edge("gpus", "nics");
    }
    row("nic", node_.nics);
    for (int i = 0; i < node_.nics; ++i) {
      box(nic(i), fmt::format("NIC {}\\n{}", i, rate_text(node_.nic_bandwidth)), nic_colour);
      if (node_.nic_place() == NicPlace::host) {
        edge(fmt::format("socket{}", i * node_.sockets / node_.nics), nic(i));
      } else if (node_.nic_place() == NicPlace::pcie_switch) {
        edge(fmt::format("switch{}", switch_of(wiring_.owner_of(i))), nic(i));
      }
    }
    if (node_.nic_place() != NicPlace::gpu) return;
    for (int i = 0; i < node_.gpus; ++i) {
      const NodeWiring::OwnNics own = wiring_.own_nics(i);
      for (int n = own.first; n < own.first + own.count; ++n) edge(gpu(i), nic(n));
    }
  }

  /// All cards of the drawn node to one switch.
  void join_nics(const std::string& to) {
    for (int i = 0; i < (folds_ ? 1 : node_.nics); ++i) edge(nic(i), to);
  }

  void more_nodes(int count, const std::string& on) {
    if (count <= 0) return;
    folded("nodes_" + on, plural(count, "more node"));
    edge("nodes_" + on, on, fmt::format("{} x {}", node_.nics, rate_text(node_.nic_bandwidth)));
  }

  void draw_fabric() {
    switch (fabric_.kind) {
      case FabricKind::none:
        return;
      case FabricKind::single_switch:
        box("fabric", "switch, never blocks", switch_colour);
        join_nics("fabric");
        return more_nodes(cluster_.nodes - 1, "fabric");
      case FabricKind::rail_optimized:
        return draw_rails();
      case FabricKind::fat_tree:
        return draw_fat_tree();
      case FabricKind::dragonfly:
        return draw_dragonfly();
      case FabricKind::torus:
        return draw_torus();
    }
  }

  [[nodiscard]] std::string ratio_text(double ratio) const {
    return ratio > 1 ? fmt::format("{:.4g} to 1", ratio) : "1 to 1";
  }

  void draw_rails() {
    const int unit = fabric_.nodes_per_leaf > 0 ? std::min(fabric_.nodes_per_leaf, cluster_.nodes)
                                                : cluster_.nodes;
    const int units = (cluster_.nodes + unit - 1) / unit;
    const int rails = folds_ ? 1 : node_.nics;
    box("spine", "spine", switch_colour);
    folded("others",
           fmt::format("{}{}", plural(unit - 1, "more node"), units > 1 ? " of the unit" : ""));
    for (int i = 0; i < rails; ++i) {
      const std::string id = fmt::format("rail{}", i);
      box(id, folds_ ? fmt::format("{} rails", node_.nics) : fmt::format("rail {}", i),
          switch_colour);
      edge(nic(i), id);
      edge("others", id);
      edge(id, "spine", i == 0 ? ratio_text(fabric_.oversubscription) : "");
    }
    if (!folds_) row("rail", rails);
    if (units > 1) {
      folded("units", fmt::format("{} of {} nodes", plural(units - 1, "more unit"), unit));
      edge("units", "spine");
    }
  }

  void draw_fat_tree() {
    const int leaf = std::min(fabric_.nodes_per_leaf, cluster_.nodes);
    const int leaves = (cluster_.nodes + leaf - 1) / leaf;
    const bool has_pods = fabric_.leaves_per_pod > 0 && leaves > fabric_.leaves_per_pod;
    const int near = has_pods ? fabric_.leaves_per_pod : leaves;
    box("leaf", "leaf", switch_colour);
    join_nics("leaf");
    more_nodes(leaf - 1, "leaf");
    if (leaves == 1) return;
    box("spine", has_pods ? "switches of the pod" : "spine", switch_colour);
    edge("leaf", "spine", ratio_text(fabric_.oversubscription));
    if (near > 1) {
      folded("leaves", fmt::format("{} more {}", near - 1, near == 2 ? "leaf" : "leaves"));
      edge("leaves", "spine");
    }
    if (!has_pods) return;
    box("core", "core", switch_colour);
    edge("spine", "core", ratio_text(fabric_.pod_oversubscription));
    folded("pods", plural((leaves + near - 1) / near - 1, "more pod"));
    edge("pods", "core");
  }

  void draw_dragonfly() {
    const FabricWiring wiring(cluster_);
    box("router", "router", switch_colour);
    join_nics("router");
    more_nodes(std::min(fabric_.nodes_per_router, cluster_.nodes) - 1, "router");
    if (fabric_.routers_per_group > 1) {
      folded("routers", plural(fabric_.routers_per_group - 1, "more router") + " of the group");
      edge("router", "routers", "each to each " + rate_text(fabric_.local_bandwidth));
    }
    if (wiring.groups() <= 1) return;
    const std::string from = fabric_.routers_per_group > 1 ? "routers" : "router";
    folded("groups", plural(wiring.groups() - 1, "more group"));
    edge(from, "groups",
         fmt::format("each group to each: {} x {}", wiring.global_links_per_pair(),
                     rate_text(fabric_.global_bandwidth)));
  }

  void draw_torus() {
    box("router", "router of the node", switch_colour);
    join_nics("router");
    for (std::size_t d = 0; d < fabric_.dimensions.size(); ++d) {
      if (fabric_.dimensions[d] < 2) continue;
      const std::string id = fmt::format("ring{}", d);
      folded(id, fmt::format("ring of {} nodes\\n(dimension {})", fabric_.dimensions[d], d));
      edge("router", id,
           fmt::format("{} x {}", fabric_.dimensions[d] > 2 ? 2 : 1,
                       rate_text(fabric_.link_bandwidth)));
    }
  }

  static constexpr std::string_view gpu_colour = "#cfe8cf";
  static constexpr std::string_view switch_colour = "#cfdcf2";
  static constexpr std::string_view bridge_colour = "#f2e3c2";
  static constexpr std::string_view nic_colour = "#ecd0e4";

  const ClusterSpec& cluster_;
  const NodeSpec& node_;
  const FabricSpec& fabric_;
  NodeWiring wiring_;
  bool folds_;
  std::string text_;
};

}  // namespace

std::string cluster_dot(const ClusterSpec& cluster) { return Drawing(cluster).text(); }

}  // namespace foretoken
