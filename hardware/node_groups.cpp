// Numbers nodes and GPUs of a cluster through its groups: those of the first group first.
#include "hardware/cluster.hpp"

namespace foretoken {

int ClusterSpec::gpu_count() const {
  if (groups.empty()) return nodes * node.gpus;
  int count = 0;
  for (const NodeGroup& group : groups) count += group.nodes * group.node.gpus;
  return count;
}

int ClusterSpec::node_of(GpuId gpu_id) const {
  auto gpu_number = static_cast<int>(gpu_id.value);
  if (groups.empty()) return gpu_number / node.gpus;
  int first = 0;
  for (const NodeGroup& group : groups) {
    const int gpus = group.nodes * group.node.gpus;
    if (gpu_number < gpus) return first + gpu_number / group.node.gpus;
    gpu_number -= gpus;
    first += group.nodes;
  }
  FORETOKEN_CHECK(false, "GPU {} of a cluster of {}", gpu_id.value, gpu_count());
}

GpuId ClusterSpec::first_gpu(int of_node) const {
  if (groups.empty()) return {static_cast<std::uint32_t>(of_node * node.gpus)};
  int before = 0;
  for (const NodeGroup& group : groups) {
    if (of_node <= group.nodes) {
      before += of_node * group.node.gpus;
      break;
    }
    before += group.nodes * group.node.gpus;
    of_node -= group.nodes;
  }
  return {static_cast<std::uint32_t>(before)};
}

const NodeSpec& ClusterSpec::node_at(int number) const {
  return groups.empty() ? node : groups[group_of(number)].node;
}

std::size_t ClusterSpec::group_of(int of_node) const {
  std::size_t group = 0;
  while (group + 1 < groups.size() && of_node >= groups[group].nodes)
    of_node -= groups[group++].nodes;
  return group;
}

ClusterSpec::NodeRange ClusterSpec::nodes_of(std::size_t group) const {
  if (groups.empty()) return {0, nodes};
  NodeRange range;
  for (std::size_t before = 0; before < group; ++before) range.first += groups[before].nodes;
  range.count = groups[group].nodes;
  return range;
}

ClusterSpec ClusterSpec::seen_from(std::size_t group) const {
  ClusterSpec seen = *this;
  if (groups.empty()) return seen;
  seen.gpu = groups[group].gpu;
  seen.node = groups[group].node;
  seen.comm.inside = groups[group].inside;
  return seen;
}

}  // namespace foretoken
