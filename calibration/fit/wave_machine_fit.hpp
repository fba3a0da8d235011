// Fits the constants with which waves are priced from a GPU's specification
// (kernels/tiles/wave_analytic.hpp) to measured times of a GPU.
#pragma once

#include <span>

#include "calibration/datasets/moe_grid.hpp"
#include "kernels/tiles/wave_analytic.hpp"

namespace foretoken {

struct WaveMachineFit {
  WaveMachine machine;
  std::size_t points = 0, times = 0;  // fitted on
  double error = 0, guess_error = 0;  // mean |log error|, smoothed below a tenth
};

/// Least mean |log error|, each grid and each of its points weighing the same: of configurations
/// within 30 % of a point's best, and of each tenth of the others. A constant that the data does
/// not ask for stays where one would guess it. Deterministic; half a minute.
WaveMachineFit fit_wave_machine(std::span<const MoeGrid> grids);

}  // namespace foretoken
