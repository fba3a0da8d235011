// Growing of classification trees: what it must learn, and what it must not split.
#include "calibration/fit/grow_tree.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// Exclusive or of two thresholds: no single cut helps at first, two levels separate it.
TEST(GrowTree, SeparatesWhatIsSeparable) {
  std::vector<std::vector<float>> rows;
  std::vector<int> labels;
  for (int x = 0; x < 10; ++x) {
    for (int y = 0; y < 8; ++y) {
      rows.push_back({static_cast<float>(x), static_cast<float>(y)});
      labels.push_back((x < 3) != (y < 5) ? 1 : 0);
    }
  }
  const DecisionTree tree = grow_tree(rows, labels, 1);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(tree.classify(rows[i]), labels[i]);
  EXPECT_LE(tree.nodes().size(), 9);
}

// Values 1, 2 | 8, 9: the cut lies half way between 2 and 8.
TEST(GrowTree, CutsHalfWay) {
  const DecisionTree tree = grow_tree({{1}, {2}, {8}, {9}}, {0, 0, 1, 1}, 1);
  ASSERT_EQ(tree.nodes().size(), 3);
  EXPECT_EQ(tree.nodes()[0].threshold, 5.0F);
}

// One odd row among ten would need a leaf of its own.
TEST(GrowTree, KeepsLeavesLargeEnough) {
  std::vector<std::vector<float>> rows;
  std::vector<int> labels(10, 0);
  for (int i = 0; i < 10; ++i) rows.push_back({static_cast<float>(i)});
  labels[0] = 1;
  EXPECT_EQ(grow_tree(rows, labels, 1).nodes().size(), 3);
  const DecisionTree coarse = grow_tree(rows, labels, 6);
  EXPECT_EQ(coarse.nodes().size(), 1);
  EXPECT_EQ(coarse.classify(rows[0]), 0);
}

TEST(GrowTree, EqualFeaturesCannotBeCut) {
  const DecisionTree tree = grow_tree({{1}, {1}, {1}}, {0, 1, 1}, 1);
  ASSERT_EQ(tree.nodes().size(), 1);
  EXPECT_EQ(tree.classify(std::vector<float>{1}), 1);
}

}  // namespace
}  // namespace foretoken
