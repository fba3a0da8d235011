// Load over time, gaps between tokens, and what counts towards an SLO.

#include "sim/metrics/timeline.hpp"

#include <gtest/gtest.h>

#include "sim/metrics/slo.hpp"

namespace foretoken {
namespace {

TEST(LoadCurve, SpreadsALoadOverTheBucketsItCovers) {
  LoadCurve curve;  // buckets of 1/64 s
  const double width = curve.width().value();
  curve.add_load(Seconds(0.5 * width), Seconds(2.25 * width), {.running = 4});
  curve.add_request(Seconds(0.5 * width), Seconds(2.25 * width));
  ASSERT_EQ(curve.buckets().size(), 3U);
  EXPECT_DOUBLE_EQ(curve.buckets()[0].running_s, 4 * 0.5 * width);
  EXPECT_DOUBLE_EQ(curve.buckets()[1].running_s, 4 * width);
  EXPECT_DOUBLE_EQ(curve.buckets()[2].running_s, 4 * 0.25 * width);
  EXPECT_DOUBLE_EQ(curve.buckets()[2].requests_s, 0.25 * width);
}

TEST(LoadCurve, WidensInsteadOfGrowingAndLosesNothing) {
  LoadCurve curve;
  double expected = 0;
  for (int i = 0; i < 5000; ++i) {
    curve.add_load(Seconds(i * 0.7), Seconds(i * 0.7 + 0.5), {.running = 1.0 + i % 3});
    curve.add_tokens(Seconds(i * 0.7), 2);
    expected += 0.5 * (1.0 + i % 3);
  }
  EXPECT_LE(curve.buckets().size(), LoadCurve::buckets_max);
  double running = 0, tokens = 0;
  for (const LoadCurve::Bucket& bucket : curve.buckets()) {
    running += bucket.running_s;
    tokens += bucket.output_tokens;
  }
  EXPECT_NEAR(running, expected, 1e-9 * expected);
  EXPECT_DOUBLE_EQ(tokens, 10'000);
}

TEST(LoadCurve, WhoIsThereAndDoesNotRunWaits) {
  LoadCurve curve;
  const double width = curve.width().value();
  for (int i = 0; i < 3; ++i) curve.add_request(Seconds(0), Seconds(width));
  curve.add_load(Seconds(0), Seconds(width), {.running = 2});
  EXPECT_DOUBLE_EQ(curve.buckets()[0].waiting_s(), width);
  curve.add_load(Seconds(0), Seconds(width), {.running = 2});
  EXPECT_DOUBLE_EQ(curve.buckets()[0].waiting_s(), 0);  // never less
}

TEST(Timeline, CountsOnlyFirstStagesAsIterations) {
  Timeline timeline(Seconds(0.0));
  timeline.record_step(Seconds(0.0), Seconds(1.0), true, 8, {.kv_used = 10});
  timeline.record_step(Seconds(1.0), Seconds(1.5), false, 8, {.kv_used = 10});
  timeline.record_step(Seconds(1.0), Seconds(4.0), true, 4, {.kv_used = 30});
  EXPECT_EQ(timeline.steps(), 2);
  EXPECT_EQ(timeline.step_sequences(), 12);
  EXPECT_EQ(timeline.step_sequences_max(), 8);
  EXPECT_DOUBLE_EQ(timeline.busy().value(), 4.5);
  EXPECT_DOUBLE_EQ(timeline.kv_used_peak(), 30);
  EXPECT_DOUBLE_EQ(timeline.kv_used_mean(), (10.0 * 1 + 30.0 * 3) / 4);
}

TEST(Timeline, LeavesTheWarmupOut) {
  Timeline timeline(Seconds(10.0));
  timeline.record_gap(Seconds(9.0), Seconds(0.5), 7);
  timeline.record_gap(Seconds(11.0), Seconds(0.25), 3);
  EXPECT_EQ(timeline.gaps().summary().count, 3);
  RequestRecord early, late;
  early.arrival = Seconds(9.9);
  late.arrival = Seconds(10.0);
  EXPECT_FALSE(timeline.is_counted(early));
  EXPECT_TRUE(timeline.is_counted(late));
}

TEST(SloTargets, AllTargetsMustHoldAndFailureNeverDoes) {
  RequestRecord record;
  record.arrival = Seconds(1.0);
  record.first_token = Seconds(1.5);
  record.finished = Seconds(2.5);
  record.output_tokens = 11;  // TPOT 0.1 s
  record.status = RequestStatus::completed;
  EXPECT_TRUE((SloTargets{}.is_met_by(record)));
  EXPECT_TRUE((SloTargets{.ttft = Seconds(0.5), .tpot = Seconds(0.1)}.is_met_by(record)));
  EXPECT_FALSE((SloTargets{.ttft = Seconds(0.49)}.is_met_by(record)));
  EXPECT_FALSE((SloTargets{.tpot = Seconds(0.09)}.is_met_by(record)));
  EXPECT_FALSE((SloTargets{.e2e = Seconds(1.4)}.is_met_by(record)));
  record.status = RequestStatus::failed;
  EXPECT_FALSE((SloTargets{}.is_met_by(record)));
}

TEST(SloTargets, AClassReplacesTheTargetsThatItNames) {
  RequestRecord record;
  record.arrival = Seconds(1.0);
  record.first_token = Seconds(1.5);
  record.finished = Seconds(2.5);
  record.output_tokens = 11;  // TPOT 0.1 s
  record.status = RequestStatus::completed;
  const SloTargets targets{
      .ttft = Seconds(0.4),
      .tpot = Seconds(0.2),
      .classes = {{.priority = 1, .ttft = Seconds(0.6)},
                  {.priority = 2, .ttft = Seconds(0.6), .tpot = Seconds(0.05)}}};
  EXPECT_FALSE(targets.is_met_by(record)) << "priority 0 has the targets for all";
  record.priority = 1;
  EXPECT_TRUE(targets.is_met_by(record));
  record.priority = 2;
  EXPECT_FALSE(targets.is_met_by(record));
  EXPECT_EQ(targets.of(1).tpot, Seconds(0.2));
}

}  // namespace
}  // namespace foretoken
