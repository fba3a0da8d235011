#include "sim/scenario/gpu_cursor.hpp"

namespace foretoken {

GpuCursor::GpuCursor(const ClusterSpec& cluster, std::size_t node_group)
    : per_node_(0), first_(0), count_(0) {
  const ClusterSpec::NodeRange nodes = cluster.nodes_of(node_group);
  per_node_ = cluster.node_at(nodes.first).gpus;
  first_ = cluster.first_gpu(nodes.first).value;
  count_ = nodes.count * per_node_;
}

std::optional<GpuId> GpuCursor::take(int gpus) {
  const int left_in_node = per_node_ - next_ % per_node_;
  if (gpus > left_in_node) finish_node();
  if (next_ + gpus > count_) return std::nullopt;
  const GpuId first = {first_ + static_cast<std::uint32_t>(next_)};
  next_ += gpus;
  return first;
}

void GpuCursor::finish_node() { next_ = (next_ + per_node_ - 1) / per_node_ * per_node_; }

}  // namespace foretoken
