// Reading and writing of trees. What is read is checked whole, so that classify() need not.
#include "kernels/networks/decision_tree.hpp"

namespace foretoken {
namespace {

const ValueArray& array_of(const Value& value, std::string_view key) {
  const Value* const member = value.is_object() ? value.find(key) : nullptr;
  if (member == nullptr || !member->is_array()) {
    throw ConfigError(value.position, fmt::format("a tree needs an array '{}'", key));
  }
  return std::get<ValueArray>(member->data);
}

double number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  throw ConfigError(value.position, "a tree's arrays hold numbers");
}

}  // namespace

Value DecisionTree::to_value() const {
  ValueArray feature;
  ValueArray threshold;
  ValueArray right;
  for (const TreeNode& node : nodes_) {
    feature.emplace_back(node.feature);
    threshold.emplace_back(static_cast<double>(node.threshold));
    right.emplace_back(node.right);
  }
  return ValueObject{{"feature", feature}, {"threshold", threshold}, {"right", right}};
}

DecisionTree DecisionTree::from_value(const Value& value, int features, int labels) {
  const ValueArray& feature = array_of(value, "feature");
  const ValueArray& threshold = array_of(value, "threshold");
  const ValueArray& right = array_of(value, "right");
  if (feature.empty() || threshold.size() != feature.size() || right.size() != feature.size()) {
    throw ConfigError(value.position, "a tree's arrays must be of one length, at least 1");
  }
  std::vector<TreeNode> nodes;
  const auto size = static_cast<double>(feature.size());
  for (std::size_t i = 0; i < feature.size(); ++i) {
    const double at = number_of(feature[i]);
    const double target = number_of(right[i]);
    const bool is_leaf = at < 0;
    const bool is_sound =
        is_leaf ? target >= 0 && target < labels
                : at < features && target > static_cast<double>(i) + 1 && target < size;
    if (!is_sound) {
      throw ConfigError(right[i].position, fmt::format("node {} of a tree leads nowhere", i));
    }
    nodes.push_back({static_cast<std::int32_t>(is_leaf ? -1.0 : at),
                     static_cast<float>(number_of(threshold[i])),
                     static_cast<std::int32_t>(target)});
  }
  return DecisionTree(std::move(nodes));
}

}  // namespace foretoken
