#include "sim/run/placement.hpp"

namespace foretoken {

std::vector<ReplicaPlacement> place_replicas(const ClusterSpec& cluster,
                                             const ParallelLayout& layout, int replicas,
                                             const SourcePosition& position) {
  const int per_node = cluster.node.gpus;
  const bool fits_node = layout.tensor <= per_node;
  if (!fits_node && layout.tensor % per_node != 0) {
    throw ConfigError(
        position,
        fmt::format("tensor_parallel = {} is more than a node's {} GPUs and "
                    "no multiple of them; use {} or {}",
                    layout.tensor, per_node, per_node, (layout.tensor / per_node + 1) * per_node));
  }
  int next = 0;
  const auto add_group = [&](std::vector<GpuId>& stage) {
    const int left_in_node = per_node - next % per_node;
    if (fits_node && layout.tensor > left_in_node) next += left_in_node;
    if (next + layout.tensor > cluster.gpu_count()) {
      throw ConfigError(
          position,
          fmt::format("{} group(s) of tensor_parallel = {} do not fit on {} node(s) of {} GPUs "
                      "without straddling nodes; use a tensor_parallel that divides {}, fewer "
                      "replicas or more nodes",
                      replicas * layout.pipeline * layout.data_parallel_attention, layout.tensor,
                      cluster.nodes, per_node, per_node));
    }
    for (int rank = 0; rank < layout.tensor; ++rank) {
      stage.push_back({static_cast<std::uint32_t>(next++)});
    }
  };
  std::vector<ReplicaPlacement> placements(static_cast<std::size_t>(replicas));
  for (ReplicaPlacement& replica : placements) {
    replica.resize(static_cast<std::size_t>(layout.pipeline));
    for (std::vector<GpuId>& stage : replica) {
      for (int group = 0; group < layout.data_parallel_attention; ++group) add_group(stage);
    }
  }
  return placements;
}

}  // namespace foretoken
