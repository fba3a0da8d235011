#include "sim/scenario/replica_count.hpp"

namespace foretoken {

int replicas_that_fit(const ClusterSpec& cluster, const ParallelLayout& layout) {
  const int per_node = cluster.node.gpus;
  int groups = 0;
  if (layout.tensor <= per_node) {
    groups = cluster.nodes * (per_node / layout.tensor);
  } else if (layout.tensor % per_node == 0) {
    groups = cluster.nodes / (layout.tensor / per_node);
  }
  return groups / (layout.pipeline * layout.data_parallel_attention);
}

}  // namespace foretoken
