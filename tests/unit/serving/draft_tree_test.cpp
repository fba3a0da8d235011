// Trees of drafts: which nodes are verified, how many are accepted on average, and what is drawn.
#include "sim/serving/draft_tree.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "sim/serving/speculation.hpp"

namespace foretoken::draft_tree_test {
namespace {

using testing::ElementsAre;

// The exponent is 1, so that two candidates are both rejected half as often as the best alone. Of
// the first position 0.6 and 0.2 are accepted, of the second 0.5 and 0.25: reached are 0.6 and 0.2,
// below the first 0.3 and 0.15, below the second 0.1 and 0.05. The best four are 0.6, 0.3, 0.2,
// 0.15.
DraftTree small_tree(int verified) {
  return DraftTree({0.6, 0.5}, {.topk = 2, .verified = verified, .exponent = 1});
}

TEST(DraftTree, VerifiesWhatIsLikeliest) {
  const DraftTree tree = small_tree(4);
  ASSERT_EQ(tree.nodes().size(), 4U);
  std::vector<double> reached;
  std::vector<int> parents;
  for (const DraftTree::Node& node : tree.nodes()) {
    reached.push_back(std::round(node.reached * 1e9) / 1e9);
    parents.push_back(node.parent);
  }
  EXPECT_THAT(reached, ElementsAre(0.6, 0.3, 0.2, 0.15));
  EXPECT_THAT(parents, ElementsAre(-1, 0, -1, 0));
  EXPECT_THAT(tree.children(-1), ElementsAre(0, 2));
  EXPECT_THAT(tree.children(0), ElementsAre(1, 3));
  EXPECT_NEAR(tree.expected_tokens(4), 1 + 0.6 + 0.3 + 0.2 + 0.15, 1e-12);
  EXPECT_NEAR(tree.expected_tokens(1), 1.6, 1e-12);
  EXPECT_EQ(small_tree(0).nodes().size(), 6U);  // all that was drafted: 2 + 2 x 2
}

TEST(DraftTree, OfOneCandidateIsAChain) {
  const DraftTree chain({0.8, 0.7, 0.5});
  ASSERT_EQ(chain.nodes().size(), 3U);
  EXPECT_EQ(chain.nodes()[2].parent, 1);
  EXPECT_NEAR(chain.expected_tokens(3), 1 + 0.8 + 0.56 + 0.28, 1e-12);
}

TEST(DraftTree, IsDrawnAsOftenAsItSays) {
  AcceptanceSampler drawn(small_tree(4), RandomStreams(7), ReplicaId{0});
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) drawn.draw(4);
  // 0.6 + 0.2, and behind the first, whose children alone are verified, 0.6 x 0.75.
  const std::vector<double> expected = {0.8, 0.45};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double sigma = std::sqrt(expected[i] * (1 - expected[i]) / draws);
    EXPECT_NEAR(static_cast<double>(drawn.totals().accepted[i]) / draws, expected[i], 5 * sigma);
  }
  EXPECT_NEAR(drawn.totals().acceptance_length(), small_tree(4).expected_tokens(4), 0.02);
}

TEST(DraftTree, CutShortIsATreeStill) {
  AcceptanceSampler drawn(small_tree(4), RandomStreams(7), ReplicaId{0});
  for (int i = 0; i < 1000; ++i) EXPECT_LE(drawn.draw(1), 1);
  EXPECT_THAT(drawn.totals().drafted, ElementsAre(1000, 0));
}

TEST(DraftTree, MoreCandidatesAndMoreVerifiedNeverGiveFewerTokens) {
  const std::vector<double> acceptance = {0.7, 0.6, 0.6, 0.5};
  double fewer_candidates = 0;
  for (const int topk : {1, 2, 4, 8}) {
    double before = 0;
    for (int verified = 4; verified <= 40; ++verified) {
      const DraftTree tree(acceptance, {.topk = topk, .verified = verified});
      EXPECT_GE(tree.expected_tokens(64), before) << topk << ", " << verified;
      before = tree.expected_tokens(64);
      EXPECT_LE(before, 5.0);
    }
    EXPECT_GE(before, fewer_candidates) << topk;
    fewer_candidates = before;
  }
}

// A tree of topk candidates drafts in as many passes as it is deep, whatever is verified.
TEST(DraftTree, TakesAPassADepth) {
  Speculation tree{.drafts = 15, .depth = 3, .topk = 4, .acceptance = {{1}, RandomStreams(1), {}}};
  EXPECT_EQ(tree.work_for(15).passes, 3);
  EXPECT_EQ(tree.work_for(15).topk, 4);
  EXPECT_EQ(tree.work_for(15).known_tokens, 4);
  EXPECT_EQ(tree.work_for(0).passes, 0);
  Speculation chain{.drafts = 3, .acceptance = {{1}, RandomStreams(1), {}}};
  EXPECT_EQ(chain.work_for(2).passes, 2);
  EXPECT_EQ(chain.work_for(2).known_tokens, 0);
}

}  // namespace
}  // namespace foretoken::draft_tree_test
