// What the models of fused experts share: which weights and activations a layer comes back to, how
// much of that the L2 still holds, and how fast the GPU multiplies the experts' format.
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/expert_load.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

/// Share of a buffer that a kernel finds in the L2, by the buffer's size over the L2's: all below
/// `edge`, nothing above; the edge is sharp for weights (one read in order), soft for buffers that
/// others share.
double kept_in_l2(double bytes_over_l2, double edge, double sharpness);

/// Experts whose weights a repeated layer comes back to. Tables draw a skewed routing anew for each
/// of the launches they average, so these are those of about two draws.
double experts_read_again(const FusedMoe& kernel, const ExpertLoad& load);

/// Dense tensor operations a cycle a SM in the format that the experts are multiplied in. Throws
/// PredictionError if the GPU has no path for it.
double expert_ops_per_cycle_sm(const FusedMoe& kernel, const GpuSpec& gpu);

}  // namespace foretoken
