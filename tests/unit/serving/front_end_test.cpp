// What becomes of requests whose clients give up or whose replicas fail, by hand: every launch is
// 1 ms, a step is `step_s`, and a lone request gets a token at the end of each step.

#include "tests/unit/serving/fleet_fixture.hpp"

namespace foretoken {
namespace {

using FrontEndTest = FleetTest;

TEST_F(FrontEndTest, ACancelledDecodeKeepsWhatWasSentAndFreesItsBlocks) {
  add(0, 50, 10).cancel_after = Seconds(steps(3.5));
  add(0, 70, 6);
  build(1);
  run();
  EXPECT_EQ(record(0).status, RequestStatus::cancelled);
  EXPECT_EQ(record(0).output_tokens, 3);
  EXPECT_NEAR(record(0).ended.value(), steps(3.5), 1e-9);
  EXPECT_LT(record(0).finished, Seconds(0.0));
  // The other one joins at step 1 and has its sixth token after 7 steps.
  EXPECT_EQ(record(1).status, RequestStatus::completed);
  EXPECT_NEAR(record(1).finished.value(), steps(7), 1e-9);
  EXPECT_EQ(tokens_sent(), 9);
  EXPECT_EQ(replicas[0]->ranks().blocks_used(), 0);
  // Closed loops and sessions hear of both, in order of time.
  ASSERT_EQ(source.finished.size(), 2U);
  EXPECT_EQ(source.finished[0].first.value, 0U);
}

TEST_F(FrontEndTest, APrefillInFlightIsCancelledAndItsTokenDropped) {
  add(0, 50, 10).cancel_after = Seconds(steps(0.5));
  build(1);
  run();
  EXPECT_EQ(record(0).status, RequestStatus::cancelled);
  EXPECT_EQ(record(0).output_tokens, 0);
  EXPECT_LT(record(0).first_token, Seconds(0.0));
  EXPECT_NEAR(record(0).scheduled.value(), 0.0, 1e-12);
  EXPECT_EQ(tokens_sent(), 0);
}

TEST_F(FrontEndTest, AFirstTokenThatIsLateTimesOutAndOneInTimeDoesNot) {
  limits.sequences_max = 1;  // the second waits until the first has ended after 4 steps
  add(0, 50, 4).first_token_timeout = Seconds(steps(1.5));
  add(0, 50, 4).first_token_timeout = Seconds(steps(3.5));
  add(0, 50, 4).first_token_timeout = Seconds(steps(5.5));
  build(1);
  run();
  EXPECT_EQ(record(0).status, RequestStatus::completed);
  EXPECT_EQ(record(1).status, RequestStatus::timed_out);
  EXPECT_NEAR(record(1).ended.value(), steps(3.5), 1e-9);
  EXPECT_LT(record(1).scheduled, Seconds(0.0));
  EXPECT_EQ(record(2).status, RequestStatus::completed);
  EXPECT_NEAR(record(2).first_token.value(), steps(5), 1e-9);
}

TEST_F(FrontEndTest, ATimeoutIsForTheWholeAnswer) {
  add(0, 50, 4).timeout = Seconds(steps(3.9));
  add(0, 50, 2).timeout = Seconds(steps(3.9));  // ends after 3 steps
  build(1);
  run();
  EXPECT_EQ(record(0).status, RequestStatus::timed_out);
  EXPECT_EQ(record(0).output_tokens, 3);
  EXPECT_EQ(record(1).status, RequestStatus::completed);
  EXPECT_NEAR(platform->now().value(), steps(3.9), 1e-9);
}

// Tokens arrive two steps after they are computed: the first at 3, an answer of two at 4.
TEST_F(FrontEndTest, AnAnswerIsThereWhenItsClientHasIt) {
  host.front_end_output = Seconds(steps(2));
  add(0, 50, 2);
  build(1);
  run();
  EXPECT_NEAR(record(0).finished.value(), steps(4), 1e-9);
  EXPECT_EQ(record(0).ended, record(0).finished);
  ASSERT_EQ(source.finished.size(), 1U);
  EXPECT_EQ(source.finished[0].second, record(0).finished) << "closed loops go on from there";
  EXPECT_NEAR(platform->now().value(), steps(4), 1e-9);
}

TEST_F(FrontEndTest, ClientsGoByTheTokensThatTheyHave) {
  host.front_end_output = Seconds(steps(2));
  limits.sequences_max = 1;
  add(0, 50, 2).timeout = Seconds(steps(3.5));
  add(10, 50, 2).timeout = Seconds(steps(4.5));
  add(20, 50, 9).first_token_timeout = Seconds(steps(2.5));
  add(30, 50, 2).first_token_timeout = Seconds(steps(3.5));
  build(1);
  run();
  EXPECT_EQ(record(0).status, RequestStatus::timed_out);
  EXPECT_LT(record(0).finished, Seconds(0.0));
  EXPECT_NEAR(record(0).ended.value(), steps(3.5), 1e-9);
  EXPECT_EQ(record(1).status, RequestStatus::completed);
  EXPECT_EQ(record(2).status, RequestStatus::timed_out);
  EXPECT_EQ(record(3).status, RequestStatus::completed);
}

TEST_F(FrontEndTest, AnAnswerOnItsWayWhenTheRunIsCutIsUnfinished) {
  host.front_end_output = Seconds(steps(2));
  add(0, 50, 2);
  build(1);
  at(3.5, [&] { platform->stop(); });
  run();
  EXPECT_EQ(record(0).status, RequestStatus::unfinished);
  EXPECT_LT(record(0).finished, Seconds(0.0));
}

TEST_F(FrontEndTest, WhatWillMissTheSloIsToldOnceAndAsSoonAsItIsCertain) {
  limits.sequences_max = 1;  // one after the other
  add(0, 50, 4);             // first token at 1, then one a step
  add(0, 50, 4);             // at 5, in time by a hair; its last at 8 is late
  add(4, 50, 1);             // at 9, in time by a hair
  build(1);
  std::vector<std::pair<std::uint32_t, double>> late;
  front_end->watch({.ttft = Seconds(steps(5)), .e2e = Seconds(steps(6.5))},
                   [&](const RequestRecord& record) {
                     late.emplace_back(record.id.value, platform->now().value());
                   });
  run();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].first, 1U);
  EXPECT_NEAR(late[0].second, steps(6.5), 2e-6);
  EXPECT_NEAR(platform->now().value(), steps(9), 1e-9) << "watching does not prolong a run";
}

TEST_F(FrontEndTest, ALateFirstTokenIsToldBeforeItComes) {
  limits.sequences_max = 1;
  add(0, 50, 4);
  add(0, 50, 4);  // first token at 5, last at 8
  build(1);
  std::vector<double> late;
  front_end->watch({.ttft = Seconds(steps(3)), .e2e = Seconds(steps(7))},
                   [&](const RequestRecord&) { late.push_back(platform->now().value()); });
  run();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_NEAR(late[0], steps(3), 2e-6);
}

TEST_F(FrontEndTest, SlowTokensAreToldBeforeTheLastOne) {
  add(0, 50, 11);  // first token at 1, last at 11
  build(1);
  std::vector<double> late;
  front_end->watch({.tpot = Seconds(steps(0.5))},
                   [&](const RequestRecord&) { late.push_back(platform->now().value()); });
  run();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_NEAR(late[0], steps(6), 2e-6);
}

TEST_F(FrontEndTest, MoreOpenRequestsThanMemoryHoldsAreAMistake) {
  for (int i = 0; i < 4; ++i) add(i, 50, 9);
  most_open = 3;
  build(1);
  front_end->start();
  try {
    platform->run();
    FAIL() << "four requests are open";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("4 requests wait at once"), std::string::npos)
        << error.what();
  }
}

TEST_F(FrontEndTest, AClientMayGoAwayUnforeseenAndTwice) {
  add(0, 50, 10);
  add(0, 70, 6);
  build(1);
  at(2.0, [&] {
    front_end->cancel({0}, Seconds(steps(3.5)));
    front_end->cancel({0}, Seconds(steps(3.6)));
    front_end->cancel({1}, Seconds(steps(99)));  // is over by then
  });
  run();
  EXPECT_EQ(record(0).status, RequestStatus::cancelled);
  EXPECT_NEAR(record(0).ended.value(), steps(3.5), 1e-9);
  EXPECT_EQ(record(1).status, RequestStatus::completed);
  EXPECT_EQ(replicas[0]->ranks().blocks_used(), 0);
}

TEST_F(FrontEndTest, DeadlinesOfWhatHasEndedDoNotProlongTheRun) {
  add(0, 50, 2).timeout = Seconds(3600.0);
  build(1);
  run();
  EXPECT_NEAR(platform->now().value(), steps(2), 1e-9);
}

TEST_F(FrontEndTest, ALostRequestStartsAnewElsewhereAndItsTokensCountOnce) {
  add(0, 50, 6);
  build(2, {}, {.attempts_max = 2, .retry_delay = Seconds(steps(1))});
  at(2.5, [&] { fleet->fail(0); });
  run();
  const RequestRecord& lost = record(0);
  EXPECT_EQ(lost.status, RequestStatus::completed);
  EXPECT_EQ(lost.attempts, 2);
  EXPECT_EQ(lost.replica.value, 1U);
  EXPECT_EQ(lost.output_tokens, 6);
  EXPECT_NEAR(lost.first_token.value(), steps(1), 1e-9);
  EXPECT_NEAR(lost.finished.value(), steps(3.5 + 6), 1e-9);
  EXPECT_EQ(tokens_sent(), 6);
  // Gaps: one step four times; the third token comes at 3.5 + 3 steps, 4.5 after the second.
  const Summary gaps = timeline.gaps().summary();
  EXPECT_EQ(gaps.count, 5);
  EXPECT_NEAR(gaps.max, steps(4.5), 1e-3 * steps(4.5));
  EXPECT_NEAR(gaps.mean, steps(4.5 + 4) / 5, 1e-9);
}

TEST_F(FrontEndTest, ARequestLostTooOftenHasFailed) {
  add(0, 50, 100);
  build(2, {}, {.attempts_max = 2, .retry_delay = {}});
  at(2.5, [&] { fleet->fail(0); });
  at(6.6, [&] { fleet->fail(1); });
  run();
  EXPECT_EQ(record(0).status, RequestStatus::failed);
  EXPECT_EQ(record(0).attempts, 2);
  EXPECT_EQ(record(0).output_tokens, 4);  // two before the first failure, four before the second
  EXPECT_EQ(tokens_sent(), 4);
  EXPECT_NEAR(record(0).ended.value(), steps(6.6), 1e-9);
}

TEST_F(FrontEndTest, AClientMayGiveUpBetweenTwoAttempts) {
  add(0, 50, 100).timeout = Seconds(steps(4));
  build(2, {}, {.attempts_max = 2, .retry_delay = Seconds(steps(3))});
  at(2.5, [&] { fleet->fail(0); });
  run();
  EXPECT_EQ(record(0).status, RequestStatus::timed_out);
  EXPECT_EQ(record(0).output_tokens, 2);
  EXPECT_NEAR(record(0).ended.value(), steps(4), 1e-9);
}

TEST_F(FrontEndTest, ACutRunLeavesWhatWaitsForARetryUnfinished) {
  add(0, 50, 100);
  build(2, {}, {.attempts_max = 2, .retry_delay = Seconds(steps(9))});
  at(2.5, [&] { fleet->fail(0); });
  at(5, [&] { platform->stop(); });
  run();
  EXPECT_EQ(record(0).status, RequestStatus::unfinished);
  EXPECT_EQ(record(0).output_tokens, 2);
}

}  // namespace
}  // namespace foretoken
