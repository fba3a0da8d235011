// Generations of NVIDIA GPUs by their compute capability (GpuSpec::compute_capability: ten times
// the major number plus the minor), where kernels or libraries change with it. NVIDIA's CUDA
// programming guide has the list. AMD parts have 0, below all of them.
#pragma once

#include "hardware/gpu.hpp"

namespace foretoken {

constexpr int ampere = 80;  // A100; 86 are its small parts
constexpr int ada = 89;
constexpr int hopper = 90;
constexpr int blackwell = 100;         // data centre: B200, B300, GB200
constexpr int blackwell_client = 120;  // workstation and gaming: neither tensor memory nor clusters

inline bool is_datacentre_blackwell(const GpuSpec& gpu) {
  return gpu.compute_capability >= blackwell && gpu.compute_capability < blackwell_client;
}

/// Copies by the tensor memory accelerator, clusters of CTAs: Hopper and data-centre Blackwell.
inline bool is_hopper_or_datacentre_blackwell(const GpuSpec& gpu) {
  return gpu.compute_capability >= hopper && gpu.compute_capability < blackwell_client;
}

}  // namespace foretoken
