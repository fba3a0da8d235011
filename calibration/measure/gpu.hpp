// The GPU that is measured: its identity for the provenance lines, its stream, and the two calls
// every file needs to turn a failed CUDA call into an exception. Driver and clock readings go
// through NVML, loaded at run time, so that the program also works where NVML is missing.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace foretoken::measure {

/// Throws std::runtime_error with the CUDA error's name and `what` unless `status` is success.
void check(cudaError_t status, const char* what);

struct Gpu {
  std::string name;    // "NVIDIA H200"
  std::string driver;  // "580.159.04"; "unknown" without NVML
  int cuda_runtime = 0, cuda_driver = 0;
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  int sm_clock_max_mhz = 0, memory_clock_max_mhz = 0;  // 0 without NVML
  double power_limit_w = 0;                            // 0 without NVML
  cudaStream_t stream = nullptr;
};

/// Makes `device` current and reads the above. Changes no setting of the card.
Gpu open_gpu(int device);

/// "13.0" from CUDA's 13000.
std::string cuda_version_text(int version);

}  // namespace foretoken::measure
