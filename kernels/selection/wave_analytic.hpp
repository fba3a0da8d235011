// The wave formula with constants from a GPU's specification, for parts on which nobody measured a
// fused mixture-of-experts kernel: whole waves of resident CTAs, each as long as its inner steps at
// the tensor or L2 rate, no product shorter than its weights take from memory. What it leaves out:
// everything that only measuring tells (instruction issue, L2 hits, clocks under load).
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/selection/wave_terms.hpp"

namespace foretoken {

/// Microseconds of the layer: sorting and padding of assignments, quantisation where the format
double analytic_wave_us(const MoeLayer& layer, const MoeTile& tile, const TiledLayer& tiled,
                        const RoutedStep& step, std::size_t height, const GpuSpec& gpu);

}  // namespace foretoken
