// Grows a random forest (Breiman 2001): every tree on rows drawn with replacement, every cut the
// one that lowers the squared error most among a random share of the features. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/networks/regression_forest.hpp"

namespace foretoken {

struct ForestOptions {
  int trees = 12;
  int leaf_rows_min = 2;
  int features_a_cut = 7;
  /// A node whose values deviate less than this from their mean (root of the mean square) is a
  /// leaf.
  double leaf_deviation = 0.015;
  std::uint64_t seed = 1;
};

/// Rows of equal length, a value for each; at least one. Thresholds and values are numbers in half
/// precision, so that a forest reads back as it was written.
RegressionForest grow_forest(const std::vector<std::vector<float>>& rows,
                             const std::vector<double>& values, const ForestOptions& options);

}  // namespace foretoken
