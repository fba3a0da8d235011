// Which kernels an operation launches, read from its captured CUDA graph: names, grids, blocks,
// clusters, shared memory, registers and occupancy. No profiler and no permission is needed, and
// nothing runs.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

namespace foretoken::measure {

struct KernelLaunch {
  std::string name;                  // demangled
  std::string grid, block, cluster;  // "132x1x1"; cluster is "" without one
  int dynamic_shared_bytes = 0, static_shared_bytes = 0;
  int registers = 0;
  int ctas_per_sm = 0;  // resident at once, as the driver computes it
};
using LaunchIdentity = std::vector<KernelLaunch>;

/// The kernel and memset nodes of a graph, in order of creation.
LaunchIdentity identify(cudaGraph_t graph);

/// One field of all kernels joined by " + ", as the datasets write it.
std::string joined(const LaunchIdentity& identity, std::string KernelLaunch::*field);
std::string joined(const LaunchIdentity& identity, int KernelLaunch::*field);

}  // namespace foretoken::measure
