// What autoscalers decide, by hand: Kubernetes' HPA, KEDA, and a planner of loads.

#include "sim/serving/scaling_policy.hpp"

#include <gtest/gtest.h>

namespace foretoken::scaling_policy_test {
namespace {

AutoscalerSettings settings_of(ScalingPolicyKind policy) {
  AutoscalerSettings settings;
  settings.policy = policy;
  settings.max = 100;
  settings.target = 10.0;
  return settings;
}

AutoscalerSettings hpa() { return settings_of(ScalingPolicyKind::hpa); }

ScalingView view(double at, int serving, double metric, int starting = 0) {
  ScalingView seen;
  seen.now = Seconds(at);
  seen.serving = serving;
  seen.starting = starting;
  seen.metric = metric;
  return seen;
}

int first_look(const AutoscalerSettings& settings, const ScalingView& seen) {
  return make_scaling_policy(settings)->look(seen);
}

// 60 / 10 a replica. 43 is 1.075 of what four should have: within a tenth; 45 is 1.125.
TEST(Hpa, WantsTheMetricOverItsTargetBeyondATenth) {
  EXPECT_EQ(first_look(hpa(), view(0, 4, 60)), 6);
  EXPECT_EQ(first_look(hpa(), view(0, 4, 43)), 4);
  EXPECT_EQ(first_look(hpa(), view(0, 4, 45)), 5);
  EXPECT_EQ(first_look(hpa(), view(0, 4, 37)), 4);
  EXPECT_EQ(first_look(hpa(), view(0, 4, 21)), 3);
  EXPECT_EQ(first_look(hpa(), view(0, 4, 0)), 1);  // never none
}

// Two serve with 17.5 each: four would do, and two start already. With 30 each six are wanted.
// Fewer are wanted by those that serve alone.
TEST(Hpa, CountsThoseThatStartAsIdleWhereMoreAreWanted) {
  EXPECT_EQ(first_look(hpa(), view(0, 2, 35, 2)), 4);
  EXPECT_EQ(first_look(hpa(), view(0, 2, 60, 2)), 6);
  EXPECT_EQ(first_look(hpa(), view(0, 2, 10, 2)), 1);
  EXPECT_EQ(first_look(hpa(), view(0, 0, 90, 3)), 3);  // nobody to ask
}

// Kubernetes' defaults: in 15 s four more or twice as many, whichever is more.
TEST(Hpa, AddsFourOrDoublesInFifteenSeconds) {
  const auto policy = make_scaling_policy(hpa());
  EXPECT_EQ(policy->look(view(0, 1, 5000)), 5);
  EXPECT_EQ(policy->look(view(10, 5, 5000)), 5);  // the four are 10 s old
  EXPECT_EQ(policy->look(view(15, 5, 5000)), 10);
  EXPECT_EQ(policy->look(view(30, 10, 5000)), 20);
}

// What the last five minutes asked for at most is kept: six until second 300, then what the looks
// at 100 and 299 asked for.
TEST(Hpa, GoesDownToTheMostOfFiveMinutes) {
  const auto policy = make_scaling_policy(hpa());
  EXPECT_EQ(policy->look(view(0, 6, 60)), 6);
  EXPECT_EQ(policy->look(view(100, 6, 20)), 6);
  EXPECT_EQ(policy->look(view(299, 6, 30)), 6);
  EXPECT_EQ(policy->look(view(300, 6, 10)), 3);
}

TEST(Hpa, AWindowUpwardsWaitsForABurstToLast) {
  AutoscalerSettings settings = hpa();
  settings.window_up = Seconds(60);
  const auto policy = make_scaling_policy(settings);
  EXPECT_EQ(policy->look(view(0, 4, 40)), 4);
  EXPECT_EQ(policy->look(view(15, 4, 80)), 4);
  EXPECT_EQ(policy->look(view(45, 4, 70)), 4);
  EXPECT_EQ(policy->look(view(60, 4, 80)), 7);  // the look at 0 is a minute old
}

// One a minute; or half of the five that there were a minute ago, rounded down to two.
TEST(Hpa, ReplicasGoAsFastAsTheRulesSay) {
  AutoscalerSettings settings = hpa();
  settings.window_down = {};
  settings.down = {{.replicas = 1, .percent = {}, .period = Seconds(60)}};
  const auto policy = make_scaling_policy(settings);
  EXPECT_EQ(policy->look(view(0, 6, 10)), 5);
  EXPECT_EQ(policy->look(view(30, 5, 10)), 5);
  EXPECT_EQ(policy->look(view(60, 5, 10)), 4);
  settings.down.push_back({.replicas = {}, .percent = 50.0, .period = Seconds(60)});
  EXPECT_EQ(first_look(settings, view(0, 5, 10)), 2);
}

TEST(Hpa, KeepsWithinMinAndMax) {
  AutoscalerSettings settings = hpa();
  settings.min = 3;
  settings.max = 7;
  EXPECT_EQ(first_look(settings, view(0, 4, 1)), 3);
  EXPECT_EQ(first_look(settings, view(0, 6, 900)), 7);
}

// Nobody is left to ask, and a deployment of one replica at least gets it back.
TEST(Hpa, ReplacesItsLastReplicaThatFailed) {
  EXPECT_EQ(first_look(hpa(), view(0, 0, 90)), 1);
  AutoscalerSettings settings = hpa();
  settings.min = 3;
  EXPECT_EQ(first_look(settings, view(0, 0, 0)), 3);
}

AutoscalerSettings keda() {
  AutoscalerSettings settings = settings_of(ScalingPolicyKind::keda);
  settings.min = 0;
  settings.activation = 2.0;
  return settings;
}

// Awake above 2; asleep 300 s after the last time above it, which was second 60.
TEST(Keda, WakesAboveItsActivationAndSleepsAfterItsCooldown) {
  const auto policy = make_scaling_policy(keda());
  EXPECT_EQ(policy->poll(view(30, 0, 2)), 0);
  EXPECT_EQ(policy->look(view(30, 0, 2)), 0);
  EXPECT_EQ(policy->poll(view(60, 0, 3)), 1);
  EXPECT_EQ(policy->poll(view(90, 1, 2)), 1);
  EXPECT_EQ(policy->poll(view(330, 1, 0)), 1);
  EXPECT_EQ(policy->poll(view(360, 1, 0)), 0);
}

// The trigger's sum over the target, whoever of them is ready: 24 / 10.
TEST(Keda, AwakeItGoesByTheSumOfTheTrigger) {
  EXPECT_EQ(first_look(keda(), view(0, 1, 24, 1)), 3);
  EXPECT_EQ(first_look(keda(), view(0, 2, 21)), 2);  // within a tenth
  AutoscalerSettings kept = keda();
  kept.min = 2;
  const auto policy = make_scaling_policy(kept);
  EXPECT_EQ(policy->poll(view(900, 2, 0)), 2);
  EXPECT_EQ(policy->look(view(900, 2, 0)), 2);
}

/// With the pace of llm-d's guide: two minutes, and 100 % in 15 s.
AutoscalerSettings wva() {
  AutoscalerSettings settings = autoscaler_defaults(ScalingPolicyKind::wva);
  settings.max = 100;
  return settings;
}

// 7 wanted of 4: what every look of two minutes asked for, 5 at least, then as many again at most.
TEST(Wva, FollowsWhatIsWantedAtThePaceOfItsHpa) {
  const auto policy = make_scaling_policy(wva());
  EXPECT_EQ(policy->look(view(0, 2, 2)), 2);
  EXPECT_EQ(policy->look(view(60, 2, 5)), 2);
  EXPECT_EQ(policy->look(view(119, 2, 7)), 2);
  EXPECT_EQ(policy->look(view(120, 2, 7)), 4);
  EXPECT_EQ(policy->look(view(135, 4, 7)), 5);  // what the look at 60 asked for
  EXPECT_EQ(policy->look(view(150, 5, 3)), 5);
  EXPECT_EQ(policy->look(view(254, 5, 3)), 5);  // the look at 135 asked for 7
  EXPECT_EQ(policy->look(view(255, 5, 3)), 3);
}

// Kubernetes' tolerance is of the number of replicas: one of eleven more is within a tenth.
TEST(Wva, OneMoreOfManyIsWithinTheTolerance) {
  AutoscalerSettings settings = wva();
  settings.window_up = {};
  EXPECT_EQ(first_look(settings, view(0, 11, 12)), 11);
  EXPECT_EQ(first_look(settings, view(0, 9, 10)), 10);
}

TEST(Wva, StartsFromNoneWhereItMayHaveNone) {
  AutoscalerSettings settings = wva();
  settings.window_up = settings.window_down = {};
  settings.up = {{.replicas = 2, .percent = {}}};
  EXPECT_EQ(first_look(settings, view(0, 0, 3)), 1);  // min = 1, which failed
  settings.min = 0;
  EXPECT_EQ(first_look(settings, view(0, 0, 0)), 0);
  EXPECT_EQ(first_look(settings, view(0, 0, 3)), 2);
  EXPECT_EQ(first_look(settings, view(0, 1, 0)), 0);
}

ScalingView load(double tokens_per_s) {
  ScalingView seen;
  seen.serving = 1;
  seen.tokens_per_s = tokens_per_s;
  return seen;
}

AutoscalerSettings planner(LoadPrediction prediction) {
  AutoscalerSettings settings = settings_of(ScalingPolicyKind::planner);
  settings.capacity = PerSecond(1000);
  settings.prediction = prediction;
  settings.history = 3;
  return settings;
}

TEST(Planner, HasRoomForTheLoadOfTheLastInterval) {
  const auto policy = make_scaling_policy(planner(LoadPrediction::constant));
  EXPECT_EQ(policy->look(load(2500)), 3);
  EXPECT_EQ(policy->look(load(400)), 1);
  EXPECT_EQ(policy->look(load(0)), 1);
}

// 1,000 and 2,000 lead to 3,000; the line through 1,000, 2,000, 6,000 is 3,000 at its middle and
// rises by 2,500: 8,000. The look before is forgotten then: 2,000, 6,000, 1,000 is 3,000, falls by
// 500: 2,000.
TEST(Planner, DrawsTheTrendOn) {
  const auto policy = make_scaling_policy(planner(LoadPrediction::trend));
  EXPECT_EQ(policy->look(load(1000)), 1);
  EXPECT_EQ(policy->look(load(2000)), 3);
  EXPECT_EQ(policy->look(load(6000)), 8);
  EXPECT_EQ(policy->look(load(1000)), 2);
}

}  // namespace
}  // namespace foretoken::scaling_policy_test
