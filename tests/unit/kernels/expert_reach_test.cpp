// How many ranks and nodes a token's experts are on: by hand, and against a router written out.
#include "kernels/expert_reach.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <vector>

#include "sim/base/random.hpp"

namespace foretoken::expert_reach_test {
namespace {

constexpr ExpertGroups four_of_eight{8, 4};

// Two of four experts, two on each rank: both on one rank once in three.
TEST(ExpertReach, WithoutGroupsAnyExpertsWillDo) {
  EXPECT_DOUBLE_EQ(sets_visited(4, 2, {}, 2), 1 + 2.0 / 3);
  EXPECT_DOUBLE_EQ(sets_visited(256, 8, {}, 1), 1);
  EXPECT_DOUBLE_EQ(sets_visited(256, 8, {}, 256), 8);
}

// Three of eight experts in four groups of two are in two groups at least, so in two if limited to
// them: of two nodes with two groups each, one is missed if both are on the other, once in six.
TEST(ExpertReach, ChosenGroupsBoundIt) {
  EXPECT_NEAR(sets_visited(8, 3, {4, 2}, 4), 2, 1e-12);
  EXPECT_NEAR(sets_visited(8, 3, {4, 2}, 2), 2 * (1 - 1.0 / 6), 1e-12);
  EXPECT_NEAR(sets_visited(8, 3, {4, 2}, 8), 3, 1e-12);
}

// One of two groups of eight: a set of four experts is passed by if its group is not chosen, or, as
// often, if both experts are among the four others: 6 of 28 pairs.
TEST(ExpertReach, SetsMayBePartsOfGroups) {
  EXPECT_NEAR(sets_visited(16, 2, {2, 1}, 4), 4 * 0.5 * (1 - 6.0 / 28), 1e-12);
}

// Two experts are in two groups at most: nothing is cut off.
TEST(ExpertReach, LimitsThatNoTokenMeetsChangeNothing) {
  for (const double sets : {2.0, 4.0, 8.0, 16.0, 256.0})
    EXPECT_NEAR(sets_visited(256, 2, {8, 2}, sets), sets_visited(256, 2, {}, sets), 1e-9);
}

// Eight experts are nearly always in four groups or more.
TEST(ExpertReach, DeepSeekV3) {
  EXPECT_NEAR(sets_visited(256, 8, four_of_eight, 8), 3.983, 0.001);
  EXPECT_NEAR(sets_visited(256, 8, {}, 8), 5.295, 0.001);
}

TEST(ExpertReach, FewerGroupsNeverReachMore) {
  for (const double sets : {2.0, 3.0, 4.0, 8.0, 16.0, 24.0, 64.0}) {
    double last = sets_visited(256, 8, {}, sets);
    for (int chosen = 7; chosen >= 1; --chosen) {
      const double reached = sets_visited(256, 8, {8, chosen}, sets);
      EXPECT_LE(reached, last + 1e-12) << chosen << " groups, " << sets << " sets";
      EXPECT_GE(reached, 1 - 1e-12);
      last = reached;
    }
  }
}

/// A router with scores that are as likely for every expert: groups by the sum of their two best,
/// then the best experts in them (DeepSeek-V3's published code).
class Router {
 public:
  explicit Router(ExpertGroups groups) : groups_(groups) {}

  std::vector<int> experts_of_a_token() {
    std::vector<double> scores(experts);
    for (double& score : scores) score = normal_(stream_);
    const int size = experts / groups_.count;
    std::vector<double> of_group;
    for (int group = 0; group < groups_.count; ++group) {
      std::vector<double> own(scores.begin() + group * size, scores.begin() + (group + 1) * size);
      std::ranges::sort(own, std::greater());
      of_group.push_back(own[0] + own[1]);
    }
    const std::vector<int> chosen = best(of_group, groups_.chosen);
    for (int expert = 0; expert < experts; ++expert) {
      if (std::ranges::find(chosen, expert / size) == chosen.end())
        scores[static_cast<std::size_t>(expert)] = -100;
    }
    return best(scores, 8);
  }

  static constexpr int experts = 256;

 private:
  static std::vector<int> best(const std::vector<double>& scores, int count) {
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](int i) { return scores[static_cast<std::size_t>(i)]; });
    order.resize(static_cast<std::size_t>(count));
    return order;
  }

  ExpertGroups groups_;
  RandomStream stream_{7};
  boost::random::normal_distribution<double> normal_;
};

TEST(ExpertReach, AgreesWithARouterWrittenOut) {
  constexpr int tokens = 4000;
  for (const ExpertGroups groups : {ExpertGroups{}, four_of_eight}) {
    Router router(groups);
    std::vector<double> visited(4, 0);
    constexpr std::array sets = {2, 4, 8, 32};
    for (int token = 0; token < tokens; ++token) {
      const std::vector<int> chosen = router.experts_of_a_token();
      for (std::size_t i = 0; i < sets.size(); ++i) {
        std::set<int> own;
        for (const int expert : chosen) own.insert(expert / (Router::experts / sets[i]));
        visited[i] += static_cast<double>(own.size()) / tokens;
      }
    }
    for (std::size_t i = 0; i < sets.size(); ++i) {
      EXPECT_NEAR(sets_visited(Router::experts, 8, groups, sets[i]) / visited[i], 1, 0.015)
          << groups.chosen << " groups, " << sets[i] << " sets";
    }
  }
}

// What the file's comment says: limited routers wake as many experts (mean of 60 batches of 32
// tokens; its standard error is 0.4 %).
TEST(ExpertReach, LimitedRoutersWakeAsManyExperts) {
  std::array<double, 2> awake{};
  for (const std::size_t limited : {std::size_t{0}, std::size_t{1}}) {
    Router router(limited == 1 ? four_of_eight : ExpertGroups{});
    for (int batch = 0; batch < 60; ++batch) {
      std::set<int> experts;
      for (int token = 0; token < 32; ++token) {
        for (const int expert : router.experts_of_a_token()) experts.insert(expert);
      }
      awake[limited] += static_cast<double>(experts.size()) / 60;
    }
  }
  EXPECT_NEAR(awake[0], 256 * (1 - std::pow(1 - 8 / 256.0, 32)), 2.5);
  EXPECT_NEAR(awake[1] / awake[0], 1, 0.015);
}

TEST(ExpertReach, TellsWhatGroupsCannotBe) {
  EXPECT_EQ(groups_mistake(256, 8, four_of_eight), "");
  EXPECT_EQ(groups_mistake(256, 8, {7, 4}), "cannot be: 7 groups do not divide 256 experts");
  EXPECT_EQ(groups_mistake(256, 8, {8, 9}), "exceeds the 8 groups");
  EXPECT_EQ(groups_mistake(16, 8, {8, 2}), "offers 4 experts, and a token takes 8");
}

}  // namespace
}  // namespace foretoken::expert_reach_test
