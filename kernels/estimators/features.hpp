// SynPerf's features (Equations 3 to 5, Table IV): operations and cycles by pipe, for the whole GPU
// and for its busiest SM, summed over a kernel's launches. One named, versioned struct: learned
// predictors, `predict --explain` and tests read the same numbers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/tasks/decomposition.hpp"

namespace foretoken {

/// Raise it when a number changes its meaning: trained artifacts name the version they were made
/// for.
inline constexpr int kernel_features_version = 1;

struct PipeFeatures {
  double total_ops = 0;
  double total_cycles = 0;  // all SMs together: total_ops / (SMs x rate)
  double max_sm_ops = 0;
  double max_sm_cycles = 0;
};

struct MemoryFeatures {
  double total_bytes = 0;  // loaded by tasks, no reuse counted
  double dram_cycles = 0;  // total_bytes at DRAM bandwidth, in SM clocks
  double l2_cycles = 0;
  double max_sm_bytes = 0;
  double max_sm_dram_cycles = 0;  // at an SM's share of the bandwidth
  double max_sm_l2_cycles = 0;
  double max_sm_shared_cycles = 0;
};

struct KernelFeatures {
  PipeFeatures tensor, fma, xu;
  MemoryFeatures memory;
  std::int64_t tasks = 0;
  std::int64_t ctas = 0;
  double waves = 0;       // of the largest launch
  int resident_ctas = 1;  // of the largest launch
  int launches = 0;
  std::int64_t worst_sm_tasks = 0;

  /// Names and values in a fixed order, for tables and datasets.
  [[nodiscard]] std::vector<std::pair<std::string, double>> named() const;
};

KernelFeatures analyze(const Decomposition& decomposition, const GpuSpec& gpu);

}  // namespace foretoken
