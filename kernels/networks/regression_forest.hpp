// A random forest that answers with a number: the mean over its trees of the leaf that the features
// lead to. Between training points it answers with the nearest ones' values, beyond them with the
// outermost; who asks it says what those points are. calibration/fit/grow_forest.cpp grows it.
#pragma once

#include <span>
#include <vector>

#include "kernels/networks/decision_tree.hpp"

namespace foretoken {

struct RegressionTree {
  DecisionTree shape;         // its labels number the leaves
  std::vector<float> values;  // of the leaves
};

class RegressionForest {
 public:
  RegressionForest() = default;
  explicit RegressionForest(std::vector<RegressionTree> trees) : trees_(std::move(trees)) {}

  /// There must be a tree, and as many features as it was grown on.
  [[nodiscard]] double predict(std::span<const float> features) const {
    double sum = 0;
    for (const RegressionTree& tree : trees_)
      sum += tree.values[static_cast<std::size_t>(tree.shape.classify(features))];
    return sum / static_cast<double>(trees_.size());
  }

  [[nodiscard]] std::span<const RegressionTree> trees() const { return trees_; }

  [[nodiscard]] Value to_value() const;
  /// The reverse. Throws ConfigError unless it is a forest over `features` features.
  static RegressionForest from_value(const Value& value, int features);

 private:
  std::vector<RegressionTree> trees_;
};

}  // namespace foretoken
