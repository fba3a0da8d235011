// Why a kernel takes what it takes, launch by launch: how it is cut, how the SMs share it, and how
// many cycles each pipe of the busiest SM needs. `foretoken predict --explain` prints this.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/predictor.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken {

/// Cycles of the busiest SM on one pipe. The memory pipes are an SM's share of the GPU's bandwidth,
/// counting every load: DRAM serves fewer, because tiles share operands in the L2.
struct PipeCycles {
  Bound pipe = Bound::tensor;
  double cycles = 0;
};

struct LaunchExplanation {
  std::string_view name;
  std::int64_t tasks = 0;
  std::int64_t ctas = 0;
  double waves = 0;  // CTAs / (SMs x resident)
  int resident = 1;  // CTAs a SM at once
  std::int64_t worst_sm_tasks = 0;
  std::array<PipeCycles, 5> pipes;  // tensor, fma, xu, l2, shared
  Bound bound_by = Bound::launch;   // the pipe with most cycles
  double bytes_loaded = 0;          // all SMs, no reuse counted
};

struct Explanation {
  Implementation implementation;  // resolved: never automatic where the kernel has a choice
  std::vector<LaunchExplanation> launches;
  std::optional<AttentionPlan> plan;
  std::optional<ProductCut> cut;
  std::string_view approximation;  // "" = follows the real kernel
};

/// Throws PredictionError as decompose() does.
Explanation explain(const Kernel& kernel, const GpuSpec& gpu);

}  // namespace foretoken
