#include "hardware/cluster_scale.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

constexpr double factor_min = 0.01, factor_max = 100;

/// Each returns whether there was something to scale.
struct Scalable {
  std::string_view name;
  bool (*gpu)(GpuSpec&, double) = nullptr;
  bool (*node)(NodeSpec&, double) = nullptr;
  bool (*fabric)(FabricSpec&, double) = nullptr;
};

template <class Unit>
bool times(Quantity<Unit>& quantity, double factor) {
  if (quantity.value() == 0.0) return false;
  quantity = Quantity<Unit>(quantity.value() * factor);
  return true;
}

bool times(double& number, double factor) {
  number *= factor;
  return number != 0.0;
}

bool times(int& count, double factor) {
  if (count == 0) return false;
  count = std::max(1, static_cast<int>(std::lround(count * factor)));
  return true;
}

bool scale_tensor_rates(GpuSpec& gpu, double factor) {
  for (double& rate : gpu.tensor_ops_per_cycle_sm) rate *= factor;
  return true;
}

bool scale_memory(GpuSpec& gpu, double factor) {
  if (gpu.memory_visible) times(*gpu.memory_visible, factor);
  return times(gpu.memory_capacity, factor);
}

/// Wires between GPUs: NVLink, Infinity Fabric.
bool scale_wires(NodeSpec& node, double factor) {
  const bool wired = node.link == NodeLink::nvswitch || node.link == NodeLink::pairwise;
  return wired && times(node.link_bandwidth, factor);
}

bool scale_pcie(NodeSpec& node, double factor) {
  bool any = node.link == NodeLink::pcie && times(node.link_bandwidth, factor);
  for (BytesPerSecond* rate : {&node.pcie_bandwidth, &node.host_link_bandwidth,
                               &node.switch_bandwidth, &node.host_bandwidth}) {
    any |= times(*rate, factor);
  }
  return any;
}

/// What joins the switches of a network: as much less is oversubscribed, down to nothing.
bool scale_uplinks(FabricSpec& fabric, double factor) {
  bool any = times(fabric.global_bandwidth, factor);
  for (double* ratio : {&fabric.oversubscription, &fabric.pod_oversubscription}) {
    const double scaled = std::max(1.0, *ratio / factor);
    any |= scaled != *ratio;
    *ratio = scaled;
  }
  if (fabric.kind == FabricKind::torus) any |= times(fabric.link_bandwidth, factor);
  return any;
}

constexpr auto scalables = std::to_array<Scalable>({
    {.name = "sm_count", .gpu = [](GpuSpec& gpu, double by) { return times(gpu.sm_count, by); }},
    {.name = "clock", .gpu = [](GpuSpec& gpu, double by) { return times(gpu.clock, by); }},
    {.name = "tensor_rate", .gpu = scale_tensor_rates},
    {.name = "fma_rate",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.fma_ops_per_cycle_sm, by); }},
    {.name = "xu_rate",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.xu_ops_per_cycle_sm, by); }},
    {.name = "dram_bandwidth",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.dram_bandwidth, by); }},
    {.name = "memory_capacity", .gpu = scale_memory},
    {.name = "l2_bandwidth",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.l2_bandwidth, by); }},
    {.name = "l2_size", .gpu = [](GpuSpec& gpu, double by) { return times(gpu.l2_size, by); }},
    {.name = "shared_bandwidth",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.shared_bytes_per_cycle_sm, by); }},
    {.name = "shared_size",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.shared_size_sm, by); }},
    {.name = "launch_latency",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.launch_latency, by); }},
    {.name = "power", .gpu = [](GpuSpec& gpu, double by) { return times(gpu.power, by); }},
    {.name = "price",
     .gpu = [](GpuSpec& gpu, double by) { return gpu.price && times(*gpu.price, by); }},
    {.name = "nvlink_bandwidth",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.nvlink_bandwidth, by); },
     .node = scale_wires},
    {.name = "pcie_bandwidth",
     .gpu = [](GpuSpec& gpu, double by) { return times(gpu.pcie_bandwidth, by); },
     .node = scale_pcie},
    {.name = "pcie_switch_bandwidth",
     .node = [](NodeSpec& node, double by) { return times(node.switch_bandwidth, by); }},
    {.name = "host_bandwidth",
     .node = [](NodeSpec& node, double by) { return times(node.host_bandwidth, by); }},
    {.name = "socket_bandwidth",
     .node = [](NodeSpec& node, double by) { return times(node.socket_bandwidth, by); }},
    {.name = "link_latency",
     .node = [](NodeSpec& node, double by) { return times(node.link_latency, by); }},
    {.name = "nic_bandwidth",
     .node = [](NodeSpec& node, double by) { return times(node.nic_bandwidth, by); }},
    {.name = "uplink_bandwidth", .fabric = scale_uplinks},
    {.name = "fabric_latency",
     .fabric = [](FabricSpec& fabric, double by) { return times(fabric.latency, by); }},
});

}  // namespace

std::vector<std::string_view> scalable_quantities() {
  std::vector<std::string_view> names;
  for (const Scalable& scalable : scalables) names.push_back(scalable.name);
  return names;
}

void scale_cluster(ClusterSpec& cluster, const ScaledQuantity& scaled,
                   const SourcePosition& position) {
  const auto& [name, factor] = scaled;
  const auto found = std::ranges::find(scalables, name, &Scalable::name);
  if (found == scalables.end()) {
    throw ConfigError(position, "cluster.scale: " +
                                    unknown_name_message("quantity", name, scalable_quantities()));
  }
  if (!(factor >= factor_min && factor <= factor_max)) {
    throw ConfigError(position, fmt::format("cluster.scale.{}: must be from {} to {}; 1.2 is 20 % "
                                            "more",
                                            name, factor_min, factor_max));
  }
  bool any = false;
  const auto scale = [&](GpuSpec& gpu, NodeSpec& node) {
    if (found->gpu != nullptr) any |= found->gpu(gpu, factor);
    if (found->node != nullptr) any |= found->node(node, factor);
  };
  scale(cluster.gpu, cluster.node);
  for (NodeGroup& group : cluster.groups) scale(group.gpu, group.node);
  if (found->fabric != nullptr) any |= found->fabric(cluster.fabric, factor);
  if (!any) {
    throw ConfigError(position, fmt::format("cluster.scale.{}: cluster '{}' has none to scale",
                                            name, cluster.name));
  }
}

}  // namespace foretoken
