// Figures by priority and tenant, from records made by hand.

#include "sim/run/request_groups.hpp"

#include <gtest/gtest.h>

#include "sim/run/throughput.hpp"

namespace foretoken::request_groups_test {
namespace {

RequestRecord record(int priority, double arrival, double first_token, double finished) {
  RequestRecord made;
  made.priority = priority;
  made.arrival = Seconds(arrival);
  made.first_token = Seconds(first_token);
  made.finished = Seconds(finished);
  made.output_tokens = 11;
  made.status = RequestStatus::completed;
  return made;
}

TEST(RequestGroups, SortByUrgencyAndLeaveOutTheWarmUp) {
  Timeline timeline(Seconds(1.0));
  timeline.record_request(record(1, 2.0, 4.0, 5.0));   // TTFT 2 s, TPOT 1 s / 10, E2E 3 s
  timeline.record_request(record(0, 1.0, 1.5, 2.5));   // 0.5 s, 100 ms, 1.5 s
  timeline.record_request(record(1, 3.0, 7.0, 10.0));  // 4 s, 300 ms, 7 s
  timeline.record_request(record(0, 0.5, 9.0, 9.5));   // came too early to count
  RequestRecord rejected;
  rejected.priority = 1;
  rejected.arrival = Seconds(3.0);
  rejected.status = RequestStatus::rejected;
  timeline.record_request(rejected);

  const Report::Steady window{.basis = SteadyBasis::service, .from_s = 1.0, .to_s = 4.5};
  const std::vector<RequestGroup> classes =
      request_groups(timeline, {.ttft = Seconds(3.0)}, window, &RequestRecord::priority);
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].priority, 0);
  EXPECT_EQ(classes[0].arrived, 1);
  EXPECT_NEAR(classes[0].ttft_ms.mean, 500.0, 1e-9);
  EXPECT_NEAR(classes[0].tpot_ms.mean, 100.0, 1e-9);
  EXPECT_EQ(classes[1].arrived, 3);
  EXPECT_EQ(classes[1].completed, 2);
  EXPECT_EQ(classes[0].rejected, 0);
  EXPECT_EQ(classes[1].rejected, 1);
  EXPECT_NEAR(classes[1].ttft_ms.p50, 3000.0, 1e-9);
  EXPECT_NEAR(classes[1].tpot_ms.max, 300.0, 1e-9);
  EXPECT_NEAR(classes[1].e2e_ms.mean, 5000.0, 1e-9);
  EXPECT_DOUBLE_EQ(classes[0].attainment, 1);
  EXPECT_DOUBLE_EQ(classes[1].attainment, 1.0 / 3);  // one waited 4 s, one was rejected
  // From 1 s to 4.5 s: all 11 of the second; of the first its first token and half of the others.
  EXPECT_NEAR(classes[0].output_tokens_per_s, 11 / 3.5, 1e-9);
  EXPECT_NEAR(classes[1].output_tokens_per_s, 6 / 3.5, 1e-9);
}

/// Whatever the rates are of: an open loop's count whole answers of requests that came in the
/// window, half of which are given behind its end.
TEST(RequestGroups, RatesAddUpToTheRunsOwn) {
  Timeline timeline(Seconds(0.5));
  for (int i = 0; i < 40; ++i) {
    timeline.record_request(record(i % 3, 0.4 + i, 1.0 + i, 13.0 + 2 * i));
  }
  for (const SteadyBasis basis : {SteadyBasis::arrivals, SteadyBasis::service, SteadyBasis::run}) {
    const bool is_closed = basis == SteadyBasis::service;
    std::vector<RequestRecord> requests = timeline.requests();
    Timeline timed(Seconds(0.5));
    for (RequestRecord& each : requests) {
      each.scheduled = each.first_token;
      each.ended = each.finished;
      if (basis == SteadyBasis::run) each.arrival = Seconds(0.6);
      timed.record_request(each);
    }
    Report report;
    report.requests.arrived = basis == SteadyBasis::run ? 40 : 39;
    report.duration_s = 91.0 - (basis == SteadyBasis::run ? 0.6 : 1.4);
    add_throughput(is_closed, timed, requests, {}, report);
    ASSERT_EQ(report.steady.basis, basis);
    double sum = 0;
    for (const RequestGroup& group :
         request_groups(timed, {}, report.steady, &RequestRecord::priority))
      sum += group.output_tokens_per_s;
    EXPECT_NEAR(sum, report.throughput.output_tokens_per_s, 1e-9) << static_cast<int>(basis);
  }
}

TEST(RequestGroups, OneClassIsNone) {
  Timeline timeline{Seconds()};
  timeline.record_request(record(3, 2.0, 4.0, 5.0));
  EXPECT_TRUE(request_groups(timeline, {}, {}, &RequestRecord::priority).empty());
}

TEST(RequestGroups, TenantsHaveNames) {
  Timeline timeline{Seconds()};
  timeline.record_request(record(3, 2.0, 4.0, 5.0));
  RequestRecord other = record(3, 2.0, 4.0, 5.0);
  other.tenant = 1;
  timeline.record_request(other);
  const std::vector<RequestGroup> tenants =
      request_groups(timeline, {}, {}, &RequestRecord::tenant, {"web", "batch"});
  ASSERT_EQ(tenants.size(), 2U);
  EXPECT_EQ(tenants[0].name, "web");
  EXPECT_EQ(tenants[1].name, "batch");
}

}  // namespace
}  // namespace foretoken::request_groups_test
