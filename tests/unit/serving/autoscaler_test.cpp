// The autoscaler's arithmetic on a fleet under known load.

#include "sim/serving/autoscaler.hpp"

#include "tests/unit/serving/fleet_fixture.hpp"

namespace foretoken {
namespace {

class AutoscalerTest : public FleetTest {
 protected:
  /// One replica of four is up; `policy` decides from then on.
  void scale(AutoscalerSettings policy, double startup_steps) {
    build(4, {.startup = Seconds(steps(startup_steps)), .is_scaled = true}, {},
          "least_outstanding");
    for (const std::size_t i : {1U, 2U, 3U}) fleet->stop(i);
    autoscaler = std::make_unique<Autoscaler>(policy, sequences_max, *platform, *fleet, all());
    autoscaler->arm();
  }
  [[nodiscard]] std::vector<ReplicaState> states() const {
    std::vector<ReplicaState> all;
    for (std::size_t i = 0; i < fleet->size(); ++i) all.push_back(fleet->state(i));
    return all;
  }

  AutoscalerSettings by_requests(double target) const {
    AutoscalerSettings policy;
    policy.max = 4;
    policy.metric = ScalingMetric::outstanding;
    policy.target = target;
    policy.interval = Seconds(steps(10));
    policy.cooldown_down = {};
    return policy;
  }

  std::unique_ptr<Autoscaler> autoscaler;
  std::int64_t sequences_max = 1;
  static constexpr auto serving = ReplicaState::serving;
  static constexpr auto starting = ReplicaState::starting;
  static constexpr auto stopped = ReplicaState::stopped;
};

TEST_F(AutoscalerTest, WantsAsManyAsBringTheMetricToItsTarget) {
  // At 10 steps seven requests are there: 7 / 3 a replica are 2.33, so 3 replicas.
  for (int i = 0; i < 7; ++i) add(0, 50, 60);
  scale(by_requests(3.0), 5);
  at(9.5, [&] { EXPECT_EQ(states(), (std::vector{serving, stopped, stopped, stopped})); });
  at(10.5, [&] { EXPECT_EQ(states(), (std::vector{serving, starting, starting, stopped})); });
  at(15.5, [&] { EXPECT_EQ(states(), (std::vector{serving, serving, serving, stopped})); });
  run();
}

TEST_F(AutoscalerTest, ATenthMoreThanTheTargetChangesNothing) {
  for (int i = 0; i < 11; ++i) add(0, 50, 30);
  scale(by_requests(10.1), 5);  // 11 / 10.1 is within the tolerance of one replica
  at(10.5, [&] { EXPECT_EQ(states()[1], stopped); });
  run();
}

TEST_F(AutoscalerTest, NeverStartsMoreThanItsMost) {
  for (int i = 0; i < 40; ++i) add(0, 50, 30);
  AutoscalerSettings policy = by_requests(1.0);
  policy.max = 2;
  scale(policy, 5);
  at(25, [&] { EXPECT_EQ(states(), (std::vector{serving, serving, stopped, stopped})); });
  run();
}

TEST_F(AutoscalerTest, ScalesDownTheIdlestAfterItsCooldown) {
  for (int i = 0; i < 4; ++i) add(0, 50, 12);  // ends after 13 steps
  add(0, 50, 100);
  AutoscalerSettings policy = by_requests(3.0);
  policy.cooldown_down = Seconds(steps(25));
  scale(policy, 1);
  // 5 / 3 at step 10: two replicas. From step 20 on one is enough, but the last change was at 10.
  at(31, [&] { EXPECT_EQ(states(), (std::vector{serving, serving, stopped, stopped})); });
  at(41, [&] { EXPECT_EQ(states(), (std::vector{serving, stopped, stopped, stopped})); });
  run();
  EXPECT_EQ(record(4).status, RequestStatus::completed);
}

TEST_F(AutoscalerTest, CountsWaitingRunningAndBlocksByTheMetric) {
  limits.sequences_max = 2;
  for (int i = 0; i < 6; ++i) add(0, 150, 60);  // two run, four wait; 10 to 14 blocks of 100 each
  AutoscalerSettings policy = by_requests(0);
  policy.metric = ScalingMetric::queue;
  policy.target = 2.0;  // 4 / 2
  scale(policy, 5);
  at(10.5, [&] { EXPECT_EQ(states(), (std::vector{serving, starting, stopped, stopped})); });
  run();
}

TEST_F(AutoscalerTest, UtilizationIsOfTheSequencesThatMayRun) {
  limits.sequences_max = 2;
  for (int i = 0; i < 6; ++i) add(0, 150, 60);
  AutoscalerSettings policy = by_requests(0);
  policy.metric = ScalingMetric::utilization;
  sequences_max = 2;
  policy.target = 0.4;  // 2 of 2 run: 1 / 0.4 = 2.5
  scale(policy, 5);
  at(10.5, [&] { EXPECT_EQ(states(), (std::vector{serving, starting, starting, stopped})); });
  run();
}

TEST_F(AutoscalerTest, KvIsTheShareOfBlocksInUse) {
  add(0, 640, 60);  // 40 blocks of 100, 41 from the first decode on
  AutoscalerSettings policy = by_requests(0);
  policy.metric = ScalingMetric::kv;
  policy.target = 0.12;  // 0.41 / 0.12 = 3.4
  scale(policy, 5);
  at(10.5, [&] { EXPECT_EQ(states(), (std::vector{serving, starting, starting, starting})); });
  run();
}

// Asleep 15 steps after there was nothing to do, at the look of step 20; a request that comes at 52
// is seen at 60, and served when its replica has started.
TEST_F(AutoscalerTest, KedaSendsTheLastReplicaToSleepAndWakesIt) {
  add(0, 50, 3);
  add(52, 50, 3);
  AutoscalerSettings policy = by_requests(1.0);
  policy.policy = ScalingPolicyKind::keda;
  policy.min = 0;
  policy.polling_interval = Seconds(steps(10));
  policy.cooldown = Seconds(steps(15));
  scale(policy, 5);
  at(19.5, [&] { EXPECT_EQ(states()[0], serving); });
  at(20.5, [&] { EXPECT_EQ(states(), std::vector(4, stopped)); });
  at(60.5, [&] { EXPECT_EQ(states()[0], starting); });
  run();
  EXPECT_NEAR(record(1).scheduled.value(), steps(65), 1e-9);
  EXPECT_EQ(record(1).status, RequestStatus::completed);
}

// 4 x 100 tokens of prompts and answers come within the first ten steps.
TEST_F(AutoscalerTest, APlannerSeesTheTokensThatCame) {
  for (int i = 0; i < 4; ++i) add(i, 80, 20);
  AutoscalerSettings policy = by_requests(1.0);
  policy.policy = ScalingPolicyKind::planner;
  policy.capacity = PerSecond(150 / steps(10));  // 400 / 150 = 2.67
  scale(policy, 5);
  at(10.5, [&] { EXPECT_EQ(states(), (std::vector{serving, starting, starting, stopped})); });
  at(20.5, [&] { EXPECT_EQ(states(), (std::vector{serving, stopped, stopped, stopped})); });
  run();
}

}  // namespace
}  // namespace foretoken
