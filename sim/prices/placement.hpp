// Which GPUs of the cluster each replica's stages take: in order, node by node. A tensor-parallel
// group that fits into a node never straddles two; a larger one takes whole nodes. With data
// parallel attention or shared prompts a stage is several groups in a row. Experts with GPUs of
// their own take the next ones, of whatever node.
#pragma once

#include <vector>

#include "hardware/cluster.hpp"
#include "models/parallel_layout.hpp"
#include "sim/scenario/gpu_cursor.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

struct ReplicaPlacement {
  std::vector<std::vector<GpuId>> stages;  // by attention rank and tensor-parallel rank
  std::vector<GpuId> experts;              // that have GPUs of their own
};

/// Groups of a cluster's nodes: attention's, and that of experts with GPUs of their own.
struct NodeGroups {
  std::size_t attention = 0, experts = 0;
};

inline NodeGroups nodes_of(const Deployment& deployment) {
  return {deployment.node_group, deployment.expert_group};
}

/// One placement a replica, by default on the first group of nodes. Throws ConfigError at
/// `position` if the groups do not fit the nodes.
std::vector<ReplicaPlacement> place_replicas(const ClusterSpec& cluster,
                                             const ParallelLayout& layout, int replicas,
                                             const SourcePosition& position,
                                             const NodeGroups& nodes = {});

/// For each pool one placement a replica. Pools that stand on the same nodes take them one after
/// the other; one that shares another's begins at their end, so that the first replicas of both
/// have GPUs. Throws ConfigError at the pool whose groups do not fit.
std::vector<std::vector<ReplicaPlacement>> place_pools(const std::vector<PoolSpec>& pools);

}  // namespace foretoken
