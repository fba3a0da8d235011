// Grows classification trees (CART, Gini impurity) until leaves are pure or small, one or several
// that vote (Breiman 2001). Deterministic: among equally good cuts the first feature and the lowest
// threshold win, and what a voter sees is drawn from a seeded stream.
#pragma once

#include <vector>

#include "kernels/networks/decision_tree.hpp"
#include "sim/base/random.hpp"

namespace foretoken {

/// Rows of equal length, a label from 0 for each. No leaf has fewer than `leaf_rows_min` rows.
DecisionTree grow_tree(const std::vector<std::vector<float>>& rows, const std::vector<int>& labels,
                       int leaf_rows_min);

struct VoterOptions {
  int trees = 16;
  int leaf_rows_min = 1;
  double features = 0.7;  // share of the features that a tree may cut by
};

/// Trees on as many rows as there are, drawn with replacement, and a share of the features each.
std::vector<DecisionTree> grow_voters(const std::vector<std::vector<float>>& rows,
                                      const std::vector<int>& labels, const VoterOptions& options,
                                      RandomStream& random);

}  // namespace foretoken
