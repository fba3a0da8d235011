// A classification tree as numbers: small enough to commit, fast enough to ask for every product.
// It is grown by calibration/fit/grow_tree.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

/// Nodes in pre-order: the left child of a node follows it.
struct TreeNode {
  std::int32_t feature = -1;  // -1: a leaf
  float threshold = 0;        // left if the feature is not above it
  std::int32_t right = 0;     // the right child; of a leaf: its label
};

class DecisionTree {
 public:
  DecisionTree() = default;
  explicit DecisionTree(std::vector<TreeNode> nodes) : nodes_(std::move(nodes)) {}

  /// The label of the leaf that the features lead to.
  [[nodiscard]] int classify(std::span<const float> features) const {
    std::size_t at = 0;
    while (nodes_[at].feature >= 0) {
      const TreeNode& node = nodes_[at];
      const bool is_left = features[static_cast<std::size_t>(node.feature)] <= node.threshold;
      at = is_left ? at + 1 : static_cast<std::size_t>(node.right);
    }
    return nodes_[at].right;
  }

  [[nodiscard]] std::span<const TreeNode> nodes() const { return nodes_; }

  /// Nodes in pre-order, a space between: "0<2.5 1 2" is feature 0 up to 2.5 ? label 1 : label 2.
  [[nodiscard]] Value to_value() const;
  /// The reverse. Throws ConfigError unless the text is a tree over `features` features and
  /// `labels` labels.
  static DecisionTree from_value(const Value& value, int features, int labels);

 private:
  std::vector<TreeNode> nodes_;
};

/// Trees that vote: several that each saw a part of the rows are right more often than one that saw
/// them all.
class VotingTrees {
 public:
  VotingTrees() = default;
  explicit VotingTrees(std::vector<DecisionTree> trees) : trees_(std::move(trees)) {}

  /// The label that most trees name; of equals the lowest. At least one tree.
  [[nodiscard]] int classify(std::span<const float> features) const;
  [[nodiscard]] std::span<const DecisionTree> trees() const { return trees_; }

  /// A list of trees.
  [[nodiscard]] Value to_value() const;
  /// Throws ConfigError for no tree, and as each tree's from_value does.
  static VotingTrees from_value(const Value& value, int features, int labels);

 private:
  std::vector<DecisionTree> trees_;
};

}  // namespace foretoken
