// What changing a GPU's numbers does to a kernel's time, by SynPerf's pipeline without a network:
// the tasks that the kernel is cut into on a known part, on the SMs and at the rates of another.
// Every term can only fall when a number of the other GPU improves (more or faster SMs, pipes,
// memory, more residency), so that ratios of two such times are monotone in the hardware by
// construction, which neither networks nor the heuristics of kernels are.
// What it leaves out: that libraries would cut the work another way on the other GPU, and power.
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

/// Time on `gpu` over time on `known`, a part of the same compute capability and formats. 1 where
/// no number differs that matters to the kernel. What nobody decomposes scales with its launch and
/// its bytes. Throws PredictionError for a collective, which is not a GPU's alone.
double hardware_ratio(const Kernel& kernel, const GpuSpec& known, const GpuSpec& gpu);

}  // namespace foretoken
