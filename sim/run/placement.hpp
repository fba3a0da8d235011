// Which GPUs of the cluster each replica's stages take: in order, node by node. A tensor-parallel
// group that fits into a node never straddles two; a larger one takes whole nodes. With data
// parallel attention a stage is several groups in a row.
#pragma once

#include <vector>

#include "hardware/cluster.hpp"
#include "models/parallel_layout.hpp"

namespace foretoken {

/// GPUs by stage, then by attention rank and tensor-parallel rank.
using ReplicaPlacement = std::vector<std::vector<GpuId>>;

/// One placement a replica. Throws ConfigError at `position` if the groups do not fit the nodes.
std::vector<ReplicaPlacement> place_replicas(const ClusterSpec& cluster,
                                             const ParallelLayout& layout, int replicas,
                                             const SourcePosition& position);

}  // namespace foretoken
