// The window that rates are taken from, and what is counted in it, by hand.

#include "sim/run/throughput.hpp"

#include <gmock/gmock.h>

#include "sim/run/request_figures.hpp"

namespace foretoken::throughput_test {
namespace {

/// 10 tokens, the first one second after `scheduled`.
RequestRecord record(double arrival, double scheduled, double finished) {
  RequestRecord made;
  made.arrival = Seconds(arrival);
  made.scheduled = Seconds(scheduled);
  made.first_token = Seconds(scheduled + 1);
  made.finished = made.ended = Seconds(finished);
  made.prompt_tokens = 100;
  made.output_tokens = 10;
  made.status = RequestStatus::completed;
  return made;
}

class ThroughputTest : public testing::Test {
 protected:
  /// What a report says of `requests`.
  Report report(bool is_closed = false, double warmup = 0, SloTargets limits = {}) const {
    const Timeline timeline{Seconds(warmup)};
    Report report;
    Seconds first(1e9), last;
    for (const RequestRecord& request : requests) {
      if (!timeline.is_counted(request)) continue;
      ++report.requests.arrived;
      first = std::min(first, request.arrival);
      last = std::max(last, request.ended);
    }
    if (report.requests.arrived > 0) report.duration_s = (last - first).value();
    add_throughput(is_closed, timeline, requests, limits, report);
    return report;
  }
  std::vector<RequestRecord> requests;
};

TEST_F(ThroughputTest, OfRequestsThatAreServedAsTheyComeIsWhatArrives) {
  // One a second for four seconds, each of ten seconds: at the end five are open.
  for (int i = 0; i < 5; ++i) requests.push_back(record(i, i, i + 10));
  const Report found = report();
  EXPECT_EQ(found.steady.basis, SteadyBasis::arrivals);
  EXPECT_DOUBLE_EQ(found.steady.from_s, 0);
  EXPECT_DOUBLE_EQ(found.steady.to_s, 4);
  EXPECT_FALSE(found.steady.is_reached);
  EXPECT_DOUBLE_EQ(found.throughput.requests_per_s, 4.0 / 4);  // behind the first
  EXPECT_DOUBLE_EQ(found.throughput.input_tokens_per_s, 400.0 / 4);
  EXPECT_DOUBLE_EQ(found.throughput.output_tokens_per_s, 40.0 / 4);
  EXPECT_DOUBLE_EQ(found.whole_run.output_tokens_per_s, 50.0 / 14);
  EXPECT_DOUBLE_EQ(found.drain.duration_s, 10);
  EXPECT_EQ(found.drain.requests, 5);
  // The first had tokens at 1 s and then one a second, so 4 by then; the others 3, 2, 1 and none.
  EXPECT_DOUBLE_EQ(found.drain.output_tokens, 50 - (4 + 3 + 2 + 1));
}

TEST_F(ThroughputTest, DoesNotChangeWithTheNumberOfRequests) {
  double first = 0;
  for (const int count : {5, 20, 400}) {
    requests.clear();
    for (int i = 0; i < count; ++i) requests.push_back(record(i, i, i + 10));
    const Report found = report();
    if (first == 0) first = found.throughput.output_tokens_per_s;
    EXPECT_DOUBLE_EQ(found.throughput.output_tokens_per_s, first) << count;
    EXPECT_EQ(found.steady.is_reached, count > 10) << count;
  }
}

TEST_F(ThroughputTest, OfAQueueLastsUntilItIsGone) {
  // One a second, but only one in two seconds is served: the last begins at 8 s.
  for (int i = 0; i < 5; ++i) requests.push_back(record(i, 2 * i, 2 * i + 2));
  const Report found = report();
  EXPECT_DOUBLE_EQ(found.steady.to_s, 8);
  EXPECT_DOUBLE_EQ(found.throughput.output_tokens_per_s, 40.0 / 8);
  EXPECT_DOUBLE_EQ(found.throughput.requests_per_s, 0.5);
  EXPECT_TRUE(found.steady.is_reached);
}

TEST_F(ThroughputTest, CountsAWaitForRoomAsAQueue) {
  for (int i = 0; i < 5; ++i) {
    requests.push_back(record(i, i, 2 * i + 2));
    requests.back().handoff.wait = Seconds(i);  // decoded at half the rate of arrivals
    requests.back().handoff.transfer = Seconds(0);
  }
  EXPECT_DOUBLE_EQ(report().steady.to_s, 8);
}

TEST_F(ThroughputTest, OfUsersWhoWaitIsWhatHappensWhileTheyAsk) {
  // Two users, three requests each of two seconds: the last begin at 4 s.
  for (const double start : {0.0, 0.0, 2.0, 2.0, 4.0, 4.0}) {
    requests.push_back(record(start, start, start + 2));
  }
  const Report found = report(true);
  EXPECT_EQ(found.steady.basis, SteadyBasis::service);
  EXPECT_DOUBLE_EQ(found.steady.to_s, 4);
  EXPECT_DOUBLE_EQ(found.throughput.requests_per_s, 4.0 / 4);
  EXPECT_DOUBLE_EQ(found.throughput.output_tokens_per_s, 40.0 / 4);
  EXPECT_DOUBLE_EQ(found.throughput.input_tokens_per_s, 400.0 / 4);
  EXPECT_EQ(found.drain.requests, 2);
  EXPECT_DOUBLE_EQ(found.drain.output_tokens, 20);
}

TEST_F(ThroughputTest, OfAWindowCountsTokensOfRequestsFromBeforeTheWarmup) {
  // Three users in a row; the first request of each arrives before the warm-up is over.
  for (int i = 0; i < 10; ++i) requests.push_back(record(i, i, i + 3));
  const Report found = report(true, 3);
  EXPECT_DOUBLE_EQ(found.steady.from_s, 3);
  EXPECT_DOUBLE_EQ(found.steady.to_s, 9);
  // Always one comes and one goes a second.
  EXPECT_DOUBLE_EQ(found.throughput.requests_per_s, 1);
  EXPECT_DOUBLE_EQ(found.throughput.output_tokens_per_s, 10);
}

TEST_F(ThroughputTest, OfAJobIsThatOfAllOfIt) {
  for (int i = 0; i < 4; ++i) requests.push_back(record(0, i, i + 2));
  const Report found = report();
  EXPECT_EQ(found.steady.basis, SteadyBasis::run);
  EXPECT_DOUBLE_EQ(found.throughput.output_tokens_per_s, 40.0 / 5);
  EXPECT_DOUBLE_EQ(found.drain.duration_s, 0);
  EXPECT_EQ(found.drain.requests, 0);
}

TEST_F(ThroughputTest, OfACutRunIsWhatClientsGotUntilThen) {
  for (int i = 0; i < 4; ++i) requests.push_back(record(i, i, i + 2));
  requests[3].status = RequestStatus::unfinished;
  requests[3].finished = Seconds(-1);
  requests[3].output_tokens = 3;
  const Report found = report();
  EXPECT_EQ(found.steady.basis, SteadyBasis::service);
  EXPECT_DOUBLE_EQ(found.steady.to_s, 5);
  EXPECT_DOUBLE_EQ(found.throughput.output_tokens_per_s, 33.0 / 5);
  EXPECT_DOUBLE_EQ(found.throughput.requests_per_s, 3.0 / 5);
}

TEST_F(ThroughputTest, IsNeverLessThanThatOfTheWholeRun) {
  // A long answer, and a short one a moment later: nothing of a steady state is to be seen.
  requests = {record(0, 0, 20), record(10, 10, 12)};
  requests[0].output_tokens = 1000;
  const Report found = report();
  EXPECT_EQ(found.steady.basis, SteadyBasis::run);
  EXPECT_DOUBLE_EQ(found.throughput.output_tokens_per_s, 1010.0 / 20);
}

TEST_F(ThroughputTest, GoodputCountsWhatMetItsTargets) {
  for (int i = 0; i < 5; ++i) requests.push_back(record(i, i, i + (i % 2 == 0 ? 2 : 9)));
  const Report found = report(false, 0, {.e2e = Seconds(3)});
  EXPECT_DOUBLE_EQ(found.slo.goodput_per_s, 2.0 / 4);  // the third and the fifth
}

TEST_F(ThroughputTest, OfNobodyIsNothing) {
  const Report found = report();
  EXPECT_EQ(found.throughput.output_tokens_per_s, 0);
  EXPECT_EQ(found.steady.basis, SteadyBasis::run);
}

}  // namespace
}  // namespace foretoken::throughput_test
