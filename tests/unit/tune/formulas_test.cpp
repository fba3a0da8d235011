// KernelBand's formulas against numbers worked out by hand.
#include <gmock/gmock.h>

#include <cmath>

#include "calibration/tune/comparison.hpp"
#include "calibration/tune/compatibility.hpp"
#include "calibration/tune/expression.hpp"
#include "calibration/tune/reward.hpp"

namespace foretoken::tune {
namespace {

using testing::HasSubstr;

std::string mistake_in(std::string_view text) {
  try {
    evaluate(text, {{"n", 4.0}}, {"kernel.cu", 7, 0});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Expression, FollowsCsPrecedence) {
  const Names names{{"n", 10}, {"BLOCK", 4}, {"FUSED", 0}};
  EXPECT_EQ(evaluate("ceildiv(n, BLOCK * 2)", names), 2);
  EXPECT_EQ(evaluate("1 + 2 * 3 - 8 / 4 / 2", names), 6);
  EXPECT_EQ(evaluate("-n + 12 % 5", names), -8);
  EXPECT_EQ(evaluate("!FUSED && n >= 10 ? max(n, 3) : 0", names), 10);
  EXPECT_EQ(evaluate("FUSED == 1 ? 1 : FUSED == 2 ? 2 : 3", names), 3);
  EXPECT_EQ(evaluate("n != 10 || n < 11", names), 1);
  EXPECT_EQ(evaluate("sqrt(min(16, n * 2)) * (1 / BLOCK)", names), 1);
}

TEST(Expression, NamesWhatIsWrongAndWhere) {
  EXPECT_THAT(mistake_in("n + m"), HasSubstr("kernel.cu:7: in \"n + m\": unknown name 'm'"));
  EXPECT_THAT(mistake_in("n +"), HasSubstr("a value is missing at the end"));
  EXPECT_THAT(mistake_in("(n"), HasSubstr("')' is missing"));
  EXPECT_THAT(mistake_in("n 4"), HasSubstr("'4' is not expected here"));
  EXPECT_THAT(mistake_in("n / (4 - n)"), HasSubstr("divides by zero"));
  EXPECT_THAT(mistake_in("ceildiv(n)"), HasSubstr("ceildiv() takes 2 values"));
  EXPECT_THAT(mistake_in("floor(n, 1)"), HasSubstr("no function 'floor'"));
  EXPECT_THAT(mistake_in(std::string(1000, '(')), HasSubstr("nests deeper"));
}

TEST(Reward, SpeedupIsWeightedByTheReferencesTimes) {
  const std::vector<double> reference{1, 3};
  EXPECT_DOUBLE_EQ(weighted_speedup(reference, reference), 1);
  // 1/4 x 1/2 + 3/4 x 3/1: the short shape got twice as slow, the long one three times as fast.
  EXPECT_DOUBLE_EQ(weighted_speedup(reference, std::vector<double>{2, 1}), 2.375);
}

TEST(Reward, IsTheRelativeGainOverTheParent) {
  Evaluation fine;
  fine.status = Status::ok;
  EXPECT_DOUBLE_EQ(reward_of(0.8, fine, 0.6, RewardRule::clipped), 0.25);
  EXPECT_DOUBLE_EQ(reward_of(0.8, fine, 1.0, RewardRule::clipped), 0);
  EXPECT_DOUBLE_EQ(reward_of(0.8, fine, 1.0, RewardRule::signed_), -0.25);
  Evaluation wrong;
  wrong.status = Status::wrong;
  EXPECT_DOUBLE_EQ(reward_of(0.8, wrong, 0.1, RewardRule::signed_), 0);
}

TEST(Regret, IsWhatTheBestArmWouldHaveEarnedMore) {
  Regret regret(0.5);
  for (const double reward : {0.25, 0.0, 0.75}) regret.add(reward);
  EXPECT_DOUBLE_EQ(regret.value(), 3 * 0.5 - 1.0);
}

TEST(Compatibility, StartsUndecidedAndLearnsWhenItsBufferIsFull) {
  Compatibility heads({.buffer = 2, .learning_rate = 0.5, .penalty = 0});
  Profile x{};
  x[0] = 1;
  EXPECT_DOUBLE_EQ(heads.probability(x, Strategy::fusion), 0.5);
  heads.add(x, Strategy::fusion, true);
  EXPECT_DOUBLE_EQ(heads.probability(x, Strategy::fusion), 0.5) << "one attempt waits";
  heads.add(x, Strategy::fusion, true);
  // Two steps of rate 1/2 on weight and bias: errors 1/2, then 1 - sigma(1/2).
  const double second = 1 - 1 / (1 + std::exp(-0.5));
  const double logit = 2 * (0.5 * 0.5 + 0.5 * second);
  EXPECT_NEAR(heads.probability(x, Strategy::fusion), 1 / (1 + std::exp(-logit)), 1e-12);
  EXPECT_DOUBLE_EQ(heads.probability(x, Strategy::tiling), 0.5) << "heads are apart";
}

TEST(Compatibility, PretrainingLeavesUnseenKernelsUndecided) {
  std::vector<PriorSample> samples;
  for (int i = 0; i < 100; ++i) {
    Profile x{};
    x[1] = i % 2;
    samples.push_back({x, Strategy::vectorization, i % 2 == 0});
  }
  Compatibility heads({});
  heads.pretrain(samples, 20);
  Profile low{}, high{}, middle{};
  high[1] = 1;
  middle[1] = 0.5;
  EXPECT_NEAR(heads.probability(middle, Strategy::vectorization), 0.5, 1e-9);
  EXPECT_GT(heads.probability(low, Strategy::vectorization), 0.6);
  EXPECT_LT(heads.probability(high, Strategy::vectorization), 0.4);
}

TEST(ProfileScale, IsTheMinimumAndMaximumOfThePool) {
  ProfileScale scale;
  Profile a{}, b{}, middle{};
  a[0] = 10;
  b[0] = 30;
  middle[0] = 15;
  scale.add(a);
  scale.add(b);
  EXPECT_DOUBLE_EQ(scale.scaled(middle)[0], 0.25);
  EXPECT_DOUBLE_EQ(scale.scaled(middle)[1], 0.5) << "a constant column says nothing";
}

TEST(Interval, IsStudents) {
  const Interval interval = interval_of({1, 2, 3});
  EXPECT_DOUBLE_EQ(interval.mean, 2);
  // Standard deviation 1, 2 degrees of freedom: 4.303 / sqrt(3).
  EXPECT_NEAR(interval.high - interval.mean, 2.4843, 1e-4);
  EXPECT_DOUBLE_EQ(interval_of({5}).low, 5);
}

}  // namespace
}  // namespace foretoken::tune
