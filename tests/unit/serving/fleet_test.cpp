// Replicas that start, drain, fail and come back: who gets requests, and what waits for whom.

#include "tests/unit/serving/fleet_fixture.hpp"

namespace foretoken {
namespace {

TEST_F(FleetTest, RequestsWaitUntilAReplicaHasStarted) {
  add(1, 50, 2);
  build(1, {.startup = Seconds(steps(5))}, {}, "round_robin", ReplicaState::starting);
  run();
  EXPECT_EQ(record(0).status, RequestStatus::completed);
  EXPECT_NEAR(record(0).scheduled.value(), steps(5), 1e-9);
  EXPECT_NEAR(record(0).finished.value(), steps(7), 1e-9);
}

TEST_F(FleetTest, AWaitingRequestCanBeGivenUp) {
  add(1, 50, 2).cancel_after = Seconds(steps(2));
  add(1, 50, 2);
  build(1, {.startup = Seconds(steps(5))}, {}, "round_robin", ReplicaState::starting);
  run();
  EXPECT_EQ(record(0).status, RequestStatus::cancelled);
  EXPECT_EQ(record(1).status, RequestStatus::completed);
}

TEST_F(FleetTest, ADrainingReplicaFinishesWhatItHasAndTakesNothingNew) {
  add(0, 50, 6);  // replica 0
  add(2, 50, 1);  // round robin would be 0 again, which drains by then
  add(2, 50, 1);
  build(2);
  FleetUsage usage;
  fleet->count_usage(usage, all());
  at(1, [&] { fleet->stop(0); });
  at(5.5, [&] { EXPECT_EQ(fleet->state(0), ReplicaState::draining); });
  at(6.5, [&] { EXPECT_EQ(fleet->state(0), ReplicaState::stopped); });
  add(7, 50, 1);
  run();
  EXPECT_EQ(record(0).replica.value, 0U);
  EXPECT_NEAR(record(0).finished.value(), steps(6), 1e-9);
  for (const std::uint32_t id : {1U, 2U, 3U}) EXPECT_EQ(record(id).replica.value, 1U);
  // Replica 0 is up for 6 steps and serves for 1; replica 1 does both for all 8.
  EXPECT_NEAR(usage.up.value(), steps(6 + 8), 1e-9);
  EXPECT_NEAR(usage.serving.value(), steps(1 + 8), 1e-9);
  EXPECT_EQ(usage.up_max, 2);
}

TEST_F(FleetTest, ADrainingReplicaIsTakenBackWithoutAStart) {
  add(0, 50, 6);
  add(4, 50, 1);
  build(1, {.startup = Seconds(steps(100))});
  at(1, [&] { fleet->stop(0); });
  at(3, [&] { fleet->start(0); });
  run();
  EXPECT_EQ(fleet->state(0), ReplicaState::serving);
  EXPECT_NEAR(record(1).finished.value(), steps(5), 1e-9);
}

TEST_F(FleetTest, AStartThatWasCalledOffDoesNotComeTrue) {
  add(9, 50, 1);
  build(2, {.startup = Seconds(steps(4)), .is_scaled = true});
  at(0, [&] { fleet->stop(1); });
  at(1, [&] { fleet->start(1); });  // would serve at 5
  at(2, [&] { fleet->stop(1); });
  at(3, [&] { fleet->start(1); });  // serves at 7
  at(6, [&] { EXPECT_EQ(fleet->state(1), ReplicaState::starting); });
  at(7.5, [&] { EXPECT_EQ(fleet->state(1), ReplicaState::serving); });
  run();
}

TEST_F(FleetTest, TwoFailuresOfOneReplicaNeedTwoRepairsThenItStarts) {
  add(0, 50, 1);
  add(9, 50, 1);
  build(1, {.startup = Seconds(steps(2))}, {.attempts_max = 9, .retry_delay = {}});
  FleetUsage usage;
  fleet->count_usage(usage, all());
  at(2, [&] { fleet->fail(0); });
  at(3, [&] { fleet->fail(0); });
  at(4, [&] { fleet->repair(0); });
  at(5, [&] { EXPECT_EQ(fleet->state(0), ReplicaState::failed); });
  at(10, [&] { fleet->repair(0); });
  run();
  EXPECT_NEAR(record(1).scheduled.value(), steps(12), 1e-9);
  EXPECT_NEAR(usage.up.value(), steps(2 + 3), 1e-9);  // to the failure; start-up and one step
  EXPECT_EQ(usage.starts, 1);
  EXPECT_EQ(usage.failures, 1);
  // Up for half of its first four steps.
  EXPECT_NEAR(usage.up_mean(Seconds(0.0), Seconds(steps(4))), 0.5, 1e-9);
  EXPECT_NEAR(usage.up_mean(Seconds(steps(10)), Seconds(steps(12))), 1.0, 1e-9);
}

TEST_F(FleetTest, ReplicasThatNobodyRepairsFailWhatOnlyTheyCouldServe) {
  add(0, 50, 9);
  add(5, 50, 1);
  build(1, {}, {.attempts_max = 9, .retry_delay = {}});
  at(2.5, [&] {
    fleet->fail(0);
    fleet->give_up(0);
  });
  run();
  EXPECT_EQ(record(0).status, RequestStatus::failed);
  EXPECT_EQ(record(0).output_tokens, 2);
  EXPECT_EQ(record(1).status, RequestStatus::failed);
  EXPECT_EQ(record(0).reason, FailureReason::no_replica);
}

TEST_F(FleetTest, AFullFleetRejects) {
  for (int i = 0; i < 5; ++i) add(0, 50, 3);
  add(9, 50, 1);
  build(2, {.outstanding_max = 2});
  run();
  for (const std::uint32_t id : {0U, 1U, 2U, 3U, 5U}) {
    EXPECT_EQ(record(id).status, RequestStatus::completed) << id;
  }
  EXPECT_EQ(record(4).status, RequestStatus::rejected);
  EXPECT_NEAR(record(4).ended.value(), 0.0, 1e-12);
}

TEST_F(FleetTest, TheRoutersViewOfAnEngineIsAsOldAsItsInterval) {
  // kv_load sees both replicas empty until 5 steps have passed, and so counts its own requests.
  add(0, 400, 20);  // replica 0: 25 blocks of 100
  add(1, 50, 20);   // equal by the old figures, fewer outstanding on 1
  add(2, 50, 1);    // a tie but for the id: 0, although its cache is fuller
  add(6, 50, 1);    // the figures are new: 1
  build(2, {.status_interval = Seconds(steps(5))}, {}, "kv_load");
  run();
  EXPECT_EQ(record(0).replica.value, 0U);
  EXPECT_EQ(record(1).replica.value, 1U);
  EXPECT_EQ(record(2).replica.value, 0U);
  EXPECT_EQ(record(3).replica.value, 1U);
}

TEST_F(FleetTest, WhatSleptWakesAndWhatFailedStartsAnew) {
  build(1, {.startup = Seconds(steps(20)), .is_scaled = true, .wake = Seconds(steps(3))});
  FleetUsage usage;
  fleet->count_usage(usage, all());
  add(12, 50, 1);  // comes while it sleeps: answered at 15 + 1
  add(32, 50, 1);  // after a failure: 50 + 1
  at(5, [&] { fleet->stop(0); });
  at(12, [&] { fleet->start(0); });
  at(20, [&] { fleet->fail(0); });
  at(25, [&] { fleet->repair(0); });
  at(26, [&] { fleet->stop(0); });  // as long as it starts it has nothing to sleep with
  at(30, [&] { fleet->start(0); });
  run();
  EXPECT_NEAR(record(0).first_token.value(), steps(16), 1e-9);
  EXPECT_NEAR(record(1).first_token.value(), steps(51), 1e-9);
  EXPECT_EQ(usage.starts, 3);
  EXPECT_EQ(usage.wakes, 1);
}

TEST_F(FleetTest, WeightsComeFromAPeerWhereOneServesAndThatIsSooner) {
  build(2, {.startup = Seconds(steps(20)),
            .is_scaled = true,
            .startup_from_peer = Seconds(steps(6)),
            .wake = Seconds(steps(8))});
  FleetUsage usage;
  fleet->count_usage(usage, all());
  add(60, 50, 1);
  at(1, [&] { fleet->stop(0); });
  at(2, [&] { fleet->start(0); });  // 1 serves: 6 steps instead of 8
  at(7.5, [&] { EXPECT_EQ(fleet->state(0), ReplicaState::starting); });
  at(8.5, [&] { EXPECT_EQ(fleet->state(0), ReplicaState::serving); });
  at(10, [&] { fleet->stop(0), fleet->stop(1); });
  at(11, [&] { fleet->start(0); });  // nobody serves: it wakes by itself
  at(18.5, [&] { EXPECT_EQ(fleet->state(0), ReplicaState::starting); });
  at(19.5, [&] { EXPECT_EQ(fleet->state(0), ReplicaState::serving); });
  run();
  EXPECT_EQ(usage.starts, 2);
  EXPECT_EQ(usage.wakes, 1);
  EXPECT_EQ(usage.starts_from_peer, 1);
}

/// Round robin would be 0, 1, 0, 1; the third's sibling has ended by then, the fourth is alone.
TEST_F(FleetTest, ChoicesOfOneCallGoToOneReplica) {
  add(0, 50, 4);
  add(0, 50, 4).beside = RequestId{0};
  add(6, 50, 1).beside = RequestId{0};
  add(6, 50, 1);
  build(2, {.outstanding_max = 1});
  run();
  EXPECT_EQ(record(0).replica.value, 0U);
  EXPECT_EQ(record(1).replica.value, 0U) << "whatever else has room";
  EXPECT_EQ(record(2).replica.value, 1U);
  EXPECT_EQ(record(3).replica.value, 0U);
}

TEST_F(FleetTest, AFailureLosesWhatTheCachesHeld) {
  const auto share = [&](Request& request) {
    request.prefix_block_tokens = 16;
    request.prefix_hashes = {1, 2, 3};
  };
  share(add(0, 50, 1));
  share(add(2, 50, 1));
  share(add(9, 50, 1));
  share(add(12, 50, 1));
  build(1, {.startup = Seconds(steps(1))});
  at(4, [&] { fleet->fail(0); });
  at(5, [&] { fleet->repair(0); });
  run();
  // 48 of the 50 tokens are whole chunks; the second and the fourth request find them.
  EXPECT_EQ(replicas[0]->prefix_totals().computed.tokens_asked, 200);
  EXPECT_EQ(replicas[0]->prefix_totals().computed.tokens_found, 96);
}

}  // namespace
}  // namespace foretoken
