// What the wave model's terms leave over on a profiled layer, carried from the profiled steps to
// others by likeness (kriging): configurations have habits that no term names, such as how a
// handful of CTAs fall on SMs and L2 slices, and like steps meet like habits. The logarithm of
// measured over predicted time of each configuration is a sum over the profiled steps of their
// likeness to the step at hand times a weight, so that far from all of them the terms alone speak.
#pragma once

#include <array>
#include <vector>

#include "kernels/tiles/routed_step.hpp"

namespace foretoken {

/// Heights of the row tiles that tell steps apart.
inline constexpr std::array<int, 4> trait_heights = {16, 32, 64, 128};
/// Logarithms of assignments, of active experts, and of row tiles of each height.
using StepTraits = std::array<double, 2 + trait_heights.size()>;

/// Of a step whose first heights are trait_heights.
StepTraits step_traits(const RoutedStep& step);

/// How far (a factor of e in all traits is 1) steps have to be apart to be a third as like.
/// Inner cross-validation on profiled points is flat from 1 to 10.
inline constexpr double likeness_length = 3;
/// e^(-root mean square of the differences / likeness_length).
double likeness(const StepTraits& a, const StepTraits& b);

struct WaveResidual {
  std::vector<StepTraits> steps;             // the profiled ones
  std::vector<std::vector<double>> weights;  // of a configuration: one a step

  [[nodiscard]] bool empty() const { return steps.empty(); }
};

}  // namespace foretoken
