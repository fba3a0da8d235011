// Reading and writing of forests. Leaf values are stored in half precision (half_text.hpp).
#include "kernels/regression_forest.hpp"

#include "kernels/half_text.hpp"

namespace foretoken {

Value RegressionForest::to_value() const {
  ValueArray trees;
  for (const RegressionTree& tree : trees_) {
    Value written = tree.shape.to_value();
    written.set("leaves", static_cast<std::int64_t>(tree.values.size()));
    written.set("values", encode_halves(tree.values));
    trees.push_back(std::move(written));
  }
  return trees;
}

RegressionForest RegressionForest::from_value(const Value& value, int features) {
  if (!value.is_array() || std::get<ValueArray>(value.data).empty()) {
    throw ConfigError(value.position, "a forest is an array of trees, at least one");
  }
  std::vector<RegressionTree> trees;
  for (const Value& tree : std::get<ValueArray>(value.data)) {
    const Value* const leaves = tree.is_object() ? tree.find("leaves") : nullptr;
    const Value* const values = tree.is_object() ? tree.find("values") : nullptr;
    const auto* const count = leaves == nullptr ? nullptr : std::get_if<std::int64_t>(&leaves->data);
    if (count == nullptr || *count < 1 || values == nullptr || !values->is_string()) {
      throw ConfigError(tree.position, "a forest's tree needs 'leaves' and their 'values'");
    }
    auto decoded =
        decode_halves(std::get<std::string>(values->data), static_cast<std::size_t>(*count));
    if (!decoded) throw ConfigError(values->position, "is not as many numbers as there are leaves");
    trees.push_back(
        {DecisionTree::from_value(tree, features, static_cast<int>(*count)), std::move(*decoded)});
  }
  return RegressionForest(std::move(trees));
}

}  // namespace foretoken
