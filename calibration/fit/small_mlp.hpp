// A small multilayer perceptron fitted to a few dozen points, as a comparator of the wave model
// (RaMP, Section IV-B: 32 x 16 hidden units on the 25 points of a configuration). LibTorch would
// spend most of its time on starting operations: a thousand networks of 600 weights are wanted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/networks/network.hpp"

namespace foretoken {

struct SmallMlpOptions {
  std::vector<int> widths = {32, 16};
  int steps = 600;              // of Adam on all points
  double learning_rate = 0.01;  // at the start; falls to zero along a cosine
  std::uint64_t seed = 1;
};

/// Mean squares of the targets as they are given; features are standardised inside. At least two
/// points of equal width. The same points, options and machine give the same network.
Ensemble fit_small_mlp(const std::vector<std::vector<float>>& points,
                       std::span<const double> targets, const SmallMlpOptions& options);

}  // namespace foretoken
