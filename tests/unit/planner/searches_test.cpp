// The searches a plan is made of, each alone: counts, loads, trials, fronts.

#include <gmock/gmock.h>

#include "sim/base/error.hpp"
#include "sim/planner/plan/count_search.hpp"
#include "sim/planner/plan/load_search.hpp"
#include "sim/planner/plan/pareto.hpp"
#include "sim/planner/plan/slo_trial.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

/// The counts that were tried until `search` ended, if `least` is the first that holds.
std::vector<int> tried(CountSearch& search, int least) {
  std::vector<int> counts;
  while (const auto count = search.next()) {
    counts.push_back(*count);
    search.take(*count, *count >= least);
  }
  return counts;
}

TEST(CountSearch, ARightGuessCostsTwoAnswers) {
  CountSearch search(1, 64, 7);
  EXPECT_THAT(tried(search, 7), ElementsAre(7, 6));
  EXPECT_THAT(search.found(), Optional(7));
  EXPECT_EQ(search.fails(), 6);
}

TEST(CountSearch, StepsDoubleAndThenHalve) {
  CountSearch up(1, 64, 2);
  EXPECT_THAT(tried(up, 12), ElementsAre(2, 3, 5, 9, 17, 13, 11, 12));
  EXPECT_THAT(up.found(), Optional(12));
  CountSearch down(1, 64, 20);
  EXPECT_THAT(tried(down, 12), ElementsAre(20, 19, 17, 13, 5, 9, 11, 12));
  EXPECT_THAT(down.found(), Optional(12));
}

TEST(CountSearch, EndsAtItsLimits) {
  CountSearch never(1, 5, 2);
  EXPECT_THAT(tried(never, 100), ElementsAre(2, 3, 5));
  EXPECT_EQ(never.found(), std::nullopt);
  CountSearch always(3, 9, 9);
  EXPECT_THAT(tried(always, 1), ElementsAre(9, 8, 6, 3));
  EXPECT_THAT(always.found(), Optional(3));
}

TEST(CountSearch, FindsEveryAnswerFromEveryGuess) {
  for (int least = 1; least <= 20; ++least) {
    for (int guess = 1; guess <= 20; ++guess) {
      CountSearch search(1, 20, guess);
      tried(search, least);
      EXPECT_THAT(search.found(), Optional(least)) << "from " << guess;
    }
  }
}

TEST(CountSearch, AsksWhatIsOfInterestFirst) {
  CountSearch search(1, 64, 30);
  search.prefer_at_most(4);
  EXPECT_THAT(search.next(), Optional(4));
  search.take(4, false);
  EXPECT_THAT(search.next(), Optional(5));
}

TEST(CountSearch, OneByOneTrustsInNothing) {
  CountSearch search = CountSearch::one_by_one(1, 9);
  EXPECT_THAT(tried(search, 4), ElementsAre(1, 2, 3, 4));
}

TEST(CountSearch, UpwardCountsBeforeItGallops) {
  CountSearch search = CountSearch::upward(2, 64, 3);
  // Steps of one until three have been taken, then of two and four; then the halves between.
  EXPECT_THAT(tried(search, 11), ElementsAre(2, 3, 4, 5, 6, 8, 12, 10, 11));
  EXPECT_THAT(search.found(), Optional(11));
}

TEST(CountSearch, UpwardNeverTakesMoreThanCountingWhereFewDo) {
  for (int from = 1; from <= 4; ++from) {
    for (int least = 1; least <= 64; ++least) {
      CountSearch up = CountSearch::upward(from, 64, 4), count = CountSearch::one_by_one(1, 64);
      const std::size_t counted = tried(count, least).size();
      const std::size_t taken = tried(up, least).size();
      EXPECT_THAT(up.found(), Optional(std::max(from, least)));
      // From one, a first longer step that was too long costs an answer.
      const std::size_t slack = from == 1 && least > 6 && least < 16 ? 1 : 0;
      EXPECT_LE(taken, counted + slack) << from << " " << least;
      EXPECT_TRUE(least < 16 || taken < counted) << from << " " << least;
    }
  }
}

TEST(LoadSearch, EndsWithinItsTolerance) {
  for (const double truth : {0.03, 0.8, 1.0, 1.7, 40.0}) {
    LoadSearch search(1.0, {.tolerance = 0.02});
    int answers = 0;
    while (const auto load = search.next()) {
      search.take(*load, *load <= truth);
      ++answers;
    }
    ASSERT_TRUE(search.holds() && search.fails());
    EXPECT_LE(*search.holds(), truth);
    EXPECT_GT(*search.fails(), truth);
    EXPECT_LE(*search.fails(), *search.holds() * 1.02);
    EXPECT_LE(answers, 20) << truth;
  }
}

TEST(LoadSearch, AGoodGuessIsCheap) {
  LoadSearch search(1.0, {.tolerance = 0.1});
  std::vector<double> loads;
  while (const auto load = search.next()) {
    loads.push_back(*load);
    search.take(*load, *load <= 1.05);
  }
  // 1 holds, 1.25 fails; sqrt(1.25) = 1.118 fails; sqrt(1.118) = 1.057 fails, within a tenth of 1.
  ASSERT_EQ(loads.size(), 4U);
  EXPECT_DOUBLE_EQ(loads[1], 1.25);
  EXPECT_NEAR(loads[2], 1.118, 0.001);
  EXPECT_NEAR(loads[3], 1.057, 0.001);
}

TEST(LoadSearch, NeverGoesAboveItsCeiling) {
  LoadSearch search(5.0, {.tolerance = 0.02, .ceiling = 2.0});
  while (const auto load = search.next()) {
    EXPECT_LE(*load, 2.0);
    search.take(*load, true);
  }
  EXPECT_GT(*search.holds(), 1.96);
}

TEST(LoadSearch, SaysWhenNothingHolds) {
  LoadSearch search(1.0, {.tolerance = 0.02, .least = 0.01});
  while (const auto load = search.next()) search.take(*load, false);
  EXPECT_EQ(search.holds(), std::nullopt);
}

TEST(SloTrial, EqualAnswersNeedNoMore) {
  SloTrial trial(0.99, {2, 5});
  EXPECT_EQ(trial.wanted(), 1);
  trial.add(1.0);
  EXPECT_EQ(trial.verdict(), std::nullopt);
  EXPECT_EQ(trial.wanted(), 1);
  trial.add(1.0);
  EXPECT_THAT(trial.verdict(), Optional(true));
  EXPECT_EQ(trial.wanted(), 0);
  EXPECT_DOUBLE_EQ(trial.lower_end(), 1.0);
}

TEST(SloTrial, TheScenariosOwnSeedHasToHold) {
  SloTrial trial(0.99, {2, 5});
  trial.add(0.9899);
  EXPECT_THAT(trial.verdict(), Optional(false)) << "whatever others might say";
  EXPECT_EQ(trial.wanted(), 0);
}

TEST(SloTrial, AsksOnWhileItIsClose) {
  // Mean 0.994 with an error of 0.002: neither side of 0.985 is certain of two values.
  SloTrial trial(0.985, {2, 4});
  trial.add(0.996);
  trial.add(0.992);
  EXPECT_EQ(trial.verdict(), std::nullopt);
  EXPECT_EQ(trial.wanted(), 1);
  trial.add(0.994);  // 0.994 - 2.92 x 0.00115
  EXPECT_THAT(trial.verdict(), Optional(true));
  EXPECT_NEAR(trial.lower_end(), 0.99063, 0.00001);
}

TEST(SloTrial, AMeanAtTheTargetDoesNotHold) {
  // The mean, 0.992, is above the target and says nothing: its interval begins at 0.983.
  SloTrial trial(0.99, {2, 5});
  for (const double attainment : {0.999, 0.976, 0.999, 0.987, 0.999}) trial.add(attainment);
  EXPECT_THAT(trial.verdict(), Optional(false));
  EXPECT_LT(trial.lower_end(), 0.99);
}

TEST(SloTrial, OneIsEnoughWhereMoreWouldBeTheSame) {
  SloTrial trial(0.99, {1, 1});
  trial.add(0.9899);
  EXPECT_THAT(trial.verdict(), Optional(false));
}

TEST(SloTrial, MeanAndStudentsT) {
  const MeanAndError result = mean_and_error({1, 2, 3});
  EXPECT_DOUBLE_EQ(result.mean, 2);
  EXPECT_DOUBLE_EQ(result.error, 1 / std::sqrt(3.0));  // deviation 1
  EXPECT_NEAR(t_quantile(0.95, 2), 6.314, 0.001);
  EXPECT_NEAR(t_quantile(0.95, 5), 2.132, 0.001);
}

TEST(Pareto, KeepsWhatNoOtherBeatsInAll) {
  const std::vector<Objectives> points = {
      {10, 500, 100},  // cheap
      {20, 200, 100},  // quick
      {20, 200, 90},   // as quick, less from a GPU: beaten by the one before
      {15, 600, 50},   // beaten by the first
      {30, 400, 200},  // a GPU does most
      {10, 500, 100},  // the first again: neither beats the other
  };
  EXPECT_THAT(pareto_front(points), ElementsAre(0, 5, 1, 4));
}

TEST(Pareto, ABoundLeavesRoomUntilItIsBeatenInAll) {
  EXPECT_TRUE(leaves_no_room({10, 500, 100}, {12, 500, 90}));
  EXPECT_FALSE(leaves_no_room({10, 500, 100}, {12, 499, 90}));
  EXPECT_FALSE(dominates({10, 500, 100}, {10, 500, 100}));
}

}  // namespace
}  // namespace foretoken
