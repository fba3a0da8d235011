// The least time that a GPU's rates allow for a kernel's work (kernel_work.hpp): every resource at
// its share of the full rate, all of them at once, no launch. What the roofline predictor starts
// from, and the theoretical time that efficiencies are told against.
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

struct RoofShares {
  double tensor = 1;  // of the tensor and FMA peak, (0, 1]
  double dram = 1;    // of the DRAM bandwidth, (0, 1]
};

struct Roof {
  Seconds time;
  Bound bound_by = Bound::launch;  // launch: nothing to do at all
};

/// `is_cold`: what starts or ends in memory passes through DRAM. Otherwise it does so only where it
/// is more than the L2 holds. Throws PredictionError where the GPU has no path for the format, or
/// no rate for a pipe that the kernel needs.
Roof roof_of(const Kernel& kernel, const GpuSpec& gpu, bool is_cold = true,
             const RoofShares& shares = {});

/// No launch takes less: roof_of at full rates (or at the share of the tensor peak that its source
/// is measured to reach at most) where all that starts or ends in memory is cold. Of a warm launch
/// only what exceeds the L2 must pass through DRAM. Cold: as the kernel says; kernels that cannot
/// say are. Never throws for what the GPU lacks: a format without a path is unpacked to the
/// activations', a resource without a rate does not count.
Roof least_time(const Kernel& kernel, const GpuSpec& gpu);

/// `prediction` of that kernel, raised to least_time where it is below.
Prediction within_physics(Prediction prediction, const Kernel& kernel, const GpuSpec& gpu);

}  // namespace foretoken
