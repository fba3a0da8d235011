// Grows a classification tree (CART, Gini impurity) until leaves are pure or small. Deterministic:
// among equally good cuts the first feature and the lowest threshold win.
#pragma once

#include <vector>

#include "kernels/networks/decision_tree.hpp"

namespace foretoken {

/// Rows of equal length, a label from 0 for each. No leaf has fewer than `leaf_rows_min` rows.
DecisionTree grow_tree(const std::vector<std::vector<float>>& rows, const std::vector<int>& labels,
                       int leaf_rows_min);

}  // namespace foretoken
