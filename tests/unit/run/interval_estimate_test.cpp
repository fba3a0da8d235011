// How requests' times are drawn out when prices grow, by hand.

#include "sim/run/interval_estimate.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace foretoken::interval_estimate_test {
namespace {

RequestRecord record(double arrival, double scheduled, double first_token, double finished) {
  RequestRecord made;
  made.arrival = Seconds(arrival);
  made.scheduled = Seconds(scheduled);
  made.first_token = Seconds(first_token);
  made.last_token = made.finished = made.ended = Seconds(finished);
  made.output_tokens = 11;
  made.status = RequestStatus::completed;
  return made;
}

TEST(DrawnOut, ScalesWorkAndWaitsForAStep) {
  // Waits 0.1 s for a step, prefills for 0.2 s, decodes for 1 s.
  const std::vector<RequestRecord> was = {record(10, 10.1, 10.3, 11.3)};
  const TimeGrowth growth{.decode = 2, .step = Seconds(0.1), .backlog = {Seconds(10)}};
  const RequestRecord slow = drawn_out(was, growth, 1.5).front();
  EXPECT_NEAR(slow.scheduled.value(), 10 + 0.1 * 2.25, 1e-12);  // the exponent is 2
  EXPECT_NEAR(slow.first_token.value(), 10.225 + 0.3, 1e-12);
  EXPECT_NEAR(slow.finished.value(), 10.525 + 2.25, 1e-12);
  EXPECT_EQ(slow.ended, slow.finished);
  EXPECT_EQ(slow.arrival, was.front().arrival);
}

TEST(DrawnOut, AQueueGrowsByTheWorkBeforeIt) {
  // The third of three that came at 0, 1 and 2 to a server that takes 4 s each: it waits from 2 to
  // 8, and 8 s of work stood before it. If that takes 10 s it waits from 2 to 10.
  const std::vector<RequestRecord> was = {record(0, 0, 4, 4), record(1, 4, 8, 8),
                                          record(2, 8, 12, 12)};
  const TimeGrowth growth{
      .decode = 1, .step = Seconds(0), .backlog = {Seconds(0), Seconds(0), Seconds(0)}};
  const auto slow = drawn_out(was, growth, 1.25);
  EXPECT_NEAR(slow[2].scheduled.value(), 10, 1e-12);
  EXPECT_NEAR(slow[2].first_token.value(), 15, 1e-12);
  EXPECT_NEAR(slow[1].scheduled.value(), 5, 1e-12);
  // Where everything is four times as fast, nobody waits, and nobody before their arrival.
  EXPECT_NEAR(drawn_out(was, growth, 0.25)[2].scheduled.value(), 2, 1e-12);
}

TEST(DrawnOut, AFactorOfOneChangesNothing) {
  const std::vector<RequestRecord> was = {record(0, 0, 4, 5), record(1, 4, 8, 9)};
  const TimeGrowth growth{.decode = 3, .step = Seconds(0.5), .backlog = {Seconds(0), Seconds(0)}};
  const auto same = drawn_out(was, growth, 1.0);
  for (std::size_t i = 0; i < was.size(); ++i) {
    EXPECT_EQ(same[i].scheduled, was[i].scheduled);
    EXPECT_EQ(same[i].first_token, was[i].first_token);
    EXPECT_EQ(same[i].finished, was[i].finished);
  }
}

TEST(DrawnOut, UsersWhoWaitAskLaterToo) {
  TimeGrowth growth{.backlog = {Seconds(12)}};
  growth.is_closed = true;
  growth.origin = Seconds(10);
  const RequestRecord slow = drawn_out({record(12, 12, 12.5, 14)}, growth, 1.5).front();
  EXPECT_NEAR(slow.arrival.value(), 13, 1e-12);
  EXPECT_NEAR(slow.first_token.value(), 13.75, 1e-12);
  EXPECT_NEAR(slow.finished.value(), 16, 1e-12);
}

TEST(DrawnOut, LeavesAloneWhatNeverRan) {
  RequestRecord rejected;
  rejected.arrival = rejected.ended = Seconds(3);
  rejected.status = RequestStatus::rejected;
  const TimeGrowth growth{.decode = 1, .step = Seconds(0), .backlog = {Seconds(3)}};
  const RequestRecord same = drawn_out({rejected}, growth, 2).front();
  EXPECT_EQ(same.ended, Seconds(3));
  EXPECT_LT(same.scheduled, Seconds(0));
}

}  // namespace
}  // namespace foretoken::interval_estimate_test
