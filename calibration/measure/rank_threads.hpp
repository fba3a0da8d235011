// The GPUs of a group and one host thread for each: what a collective needs, since every rank must
// enter it and a rank that waits in the driver must not hold up the others.
#pragma once

#include <cuda_runtime.h>

#include <barrier>
#include <functional>
#include <vector>

#include "gpu.hpp"

namespace foretoken::measure {

/// What one rank's thread works with. Its GPU is current in that thread.
struct Rank {
  int index = 0;
  cudaStream_t stream = nullptr;
  std::barrier<>* meet = nullptr;  // of all ranks of this run
};

/// Runs `work` on one thread for each of the first `ranks` GPUs and waits for all of them. A rank
/// that throws ends the program with its message: its peers would wait for it for ever.
void run_ranks(const std::vector<Gpu>& gpus, int ranks, const std::function<void(Rank&)>& work);

/// Lets each of the GPUs read and write the others' memory. False if a pair cannot.
bool enable_peer_access(int gpus);

}  // namespace foretoken::measure
