// Hands out the GPUs of a cluster in order: which ones a tensor-parallel group may take. A group
// that fits into a node never straddles two; a larger one takes whole nodes.
#pragma once

#include <optional>

#include "hardware/cluster.hpp"

namespace foretoken {

class GpuCursor {
 public:
  /// Over the nodes of one group of the cluster; over all where there are no groups.
  GpuCursor(const ClusterSpec& cluster, std::size_t node_group);

  /// The first of `gpus` GPUs in a row; nullopt if there are no more. `gpus` fits into a node or is
  /// a multiple of its GPUs.
  std::optional<GpuId> take(int gpus);
  /// Leaves the rest of a node that is used in part.
  void finish_node();

  [[nodiscard]] int gpus_per_node() const { return per_node_; }
  [[nodiscard]] int nodes() const { return count_ / per_node_; }

 private:
  int per_node_;
  std::uint32_t first_;
  int count_;
  int next_ = 0;
};

}  // namespace foretoken
