// Growing of regression forests: what one tree must find, and that a forest is reproducible and
// reads back as it was written.
#include "calibration/fit/grow_forest.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/json.hpp"

namespace foretoken {
namespace {

ForestOptions with_trees(int trees) {
  ForestOptions options;
  options.trees = trees;
  options.features_a_cut = 2;
  return options;
}

// A step at 4.5 in one feature; the other says nothing. Rows drawn with replacement may miss 4 or
// 5, so the cut lies between 3 and 6.
TEST(GrowForest, FindsAStep) {
  std::vector<std::vector<float>> rows;
  std::vector<double> values;
  for (int x = 0; x < 10; ++x) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      rows.push_back({7, static_cast<float>(x)});
      values.push_back(x < 5 ? 1.0 : 3.0);
    }
  }
  const RegressionForest forest = grow_forest(rows, values, with_trees(5));
  for (const float x : {0.0F, 3.0F}) EXPECT_DOUBLE_EQ(forest.predict(std::vector{7.0F, x}), 1);
  for (const float x : {6.0F, 20.0F}) EXPECT_DOUBLE_EQ(forest.predict(std::vector{7.0F, x}), 3);
  for (const RegressionTree& tree : forest.trees()) EXPECT_EQ(tree.values.size(), 2u);
}

TEST(GrowForest, AnswersWithTheMeanOfItsLeaves) {
  const RegressionTree low{DecisionTree({{0, 1.0F, 2}, {-1, 0, 0}, {-1, 0, 1}}), {1.0F, 2.0F}};
  const RegressionTree high{DecisionTree(std::vector<TreeNode>{{-1, 0, 0}}), {4.0F}};
  const RegressionForest forest({low, high});
  EXPECT_DOUBLE_EQ(forest.predict(std::vector{0.5F}), (1.0 + 4.0) / 2);
  EXPECT_DOUBLE_EQ(forest.predict(std::vector{1.5F}), (2.0 + 4.0) / 2);
}

TEST(GrowForest, EqualValuesAreOneLeaf) {
  const RegressionForest forest = grow_forest({{1}, {2}, {3}}, {0.5, 0.5, 0.5}, with_trees(3));
  for (const RegressionTree& tree : forest.trees()) EXPECT_EQ(tree.shape.nodes().size(), 1u);
  EXPECT_DOUBLE_EQ(forest.predict(std::vector{9.0F}), 0.5);
}

TEST(GrowForest, IsReproducibleAndReadsBackAsWritten) {
  std::vector<std::vector<float>> rows;
  std::vector<double> values;
  for (int i = 0; i < 300; ++i) {
    const auto x = static_cast<float>(i % 29), y = static_cast<float>(i % 17);
    rows.push_back({x, y});
    values.push_back(std::sin(0.3 * x) + 0.1 * y);
  }
  const RegressionForest forest = grow_forest(rows, values, with_trees(8));
  const std::string text = to_json(forest.to_value());
  EXPECT_EQ(text, to_json(grow_forest(rows, values, with_trees(8)).to_value()));
  ForestOptions other_seed = with_trees(8);
  other_seed.seed = 2;
  EXPECT_NE(text, to_json(grow_forest(rows, values, other_seed).to_value()));
  const RegressionForest read = RegressionForest::from_value(parse_json(text, {}), 2);
  double error = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(read.predict(rows[i]), forest.predict(rows[i]));  // to the last bit
    error += std::abs(forest.predict(rows[i]) - values[i]) / static_cast<double>(rows.size());
  }
  EXPECT_LT(error, 0.08);  // of values between -1 and 2.6
}

TEST(GrowForest, RefusesWhatIsNoForest) {
  for (const char* text :
       {"[]", "{}", R"([{"feature":[-1],"threshold":[0],"right":[0]}])",
        R"([{"feature":[-1],"threshold":[0],"right":[0],"leaves":1,"values":""}])",
        R"([{"feature":[-1],"threshold":[0],"right":[1],"leaves":1,)"
        R"("values":"AAA="}])"}) {
    EXPECT_THROW(RegressionForest::from_value(parse_json(text, {}), 2), ConfigError) << text;
  }
}

}  // namespace
}  // namespace foretoken
