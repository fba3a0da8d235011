// Reading and writing of forests. Nodes are in pre-order, so a tree is told by which feature each
// node cuts: a letter, or '.' for a leaf. Thresholds and leaf values are in half precision
// (half_text.hpp), in the order of their nodes.
#include "kernels/networks/regression_forest.hpp"

#include "kernels/networks/half_text.hpp"

namespace foretoken {
namespace {

constexpr char leaf_mark = '.';
constexpr char first_feature = 'a';
constexpr int features_max = 26;

const std::string& text_in(const Value& tree, std::string_view key) {
  const Value* const member = tree.is_object() ? tree.find(key) : nullptr;
  if (member == nullptr || !member->is_string())
    throw ConfigError(tree.position, fmt::format("a forest's tree needs a text '{}'", key));
  return std::get<std::string>(member->data);
}

/// The nodes that `cuts` tells, without thresholds; empty unless it is exactly one whole tree.
std::vector<TreeNode> nodes_of(std::string_view cuts, int features) {
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> open;  // inner nodes whose right child is to come
  std::int32_t leaves = 0;
  for (const char cut : cuts) {
    const auto self = static_cast<std::int32_t>(nodes.size());
    const bool is_after_leaf = !nodes.empty() && nodes.back().feature < 0;
    if (is_after_leaf) {
      if (open.empty()) return {};
      nodes[open.back()].right = self;
      open.pop_back();
    }
    if (cut == leaf_mark) {
      nodes.push_back({-1, 0, leaves++});
      continue;
    }
    const int feature = cut - first_feature;
    if (feature < 0 || feature >= features) return {};
    open.push_back(nodes.size());
    nodes.push_back({feature, 0, 0});
  }
  return open.empty() && !nodes.empty() && nodes.back().feature < 0 ? nodes
                                                                    : std::vector<TreeNode>{};
}

RegressionTree read_tree(const Value& value, int features) {
  std::vector<TreeNode> nodes = nodes_of(text_in(value, "cuts"), features);
  const std::size_t leaves = (nodes.size() + 1) / 2;
  const auto thresholds = decode_halves(text_in(value, "thresholds"), leaves > 0 ? leaves - 1 : 0);
  auto values = decode_halves(text_in(value, "values"), leaves);
  if (nodes.empty() || !thresholds || !values)
    throw ConfigError(value.position, "is not a whole tree: cuts, thresholds and values differ");
  std::size_t at = 0;
  for (TreeNode& node : nodes)
    if (node.feature >= 0) node.threshold = (*thresholds)[at++];
  return {DecisionTree(std::move(nodes)), std::move(*values)};
}

}  // namespace

Value RegressionForest::to_value() const {
  ValueArray trees;
  for (const RegressionTree& tree : trees_) {
    std::string cuts;
    std::vector<float> thresholds;
    for (const TreeNode& node : tree.shape.nodes()) {
      FORETOKEN_CHECK(node.feature < features_max, "a cut of feature {}", node.feature);
      cuts += node.feature < 0 ? leaf_mark : static_cast<char>(first_feature + node.feature);
      if (node.feature >= 0) thresholds.push_back(node.threshold);
    }
    trees.emplace_back(ValueObject{{"cuts", std::move(cuts)},
                                   {"thresholds", encode_halves(thresholds)},
                                   {"values", encode_halves(tree.values)}});
  }
  return trees;
}

RegressionForest RegressionForest::from_value(const Value& value, int features) {
  if (!value.is_array() || std::get<ValueArray>(value.data).empty()) {
    throw ConfigError(value.position, "a forest is an array of trees, at least one");
  }
  std::vector<RegressionTree> trees;
  for (const Value& tree : std::get<ValueArray>(value.data))
    trees.push_back(read_tree(tree, features));
  return RegressionForest(std::move(trees));
}

}  // namespace foretoken
