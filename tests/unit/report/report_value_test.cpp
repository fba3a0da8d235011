// report.json: the exact document of a small report (names are promised to other programs), and
// what the rounding does to numbers.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/rounding.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace foretoken {
namespace {

TEST(Rounded, KeepsNineSignificantDigits) {
  EXPECT_EQ(rounded(100.0 / 3), 33.3333333);
  EXPECT_EQ(rounded(1234567890123.0), 1234567890000.0);
  EXPECT_EQ(rounded(1.23456789051e-7), 1.23456789e-7);
  EXPECT_EQ(rounded(-0.1), -0.1);
}

TEST(Rounded, SwallowsTheLastBits) {
  const double nudged = std::nextafter(0.3, 1.0);
  EXPECT_NE(nudged, 0.3);
  EXPECT_EQ(rounded(nudged), 0.3);
}

TEST(Rounded, IsItsOwnFixedPointAcrossTheRangeOfADouble) {
  for (double value = 1.0 / 3 * 1e-300; value < 1e300; value *= 17) {
    EXPECT_EQ(rounded(rounded(value)), rounded(value));
    EXPECT_NEAR(rounded(value), value, value * 0.5e-8);
  }
}

TEST(Rounded, ZeroHasNoSign) { EXPECT_FALSE(std::signbit(rounded(-0.0))); }

TEST(Rounded, RefusesWhatIsNoNumber) {
  EXPECT_THROW(rounded(std::nan("")), InternalError);
  EXPECT_THROW(rounded(std::numeric_limits<double>::infinity()), InternalError);
}

TEST(ReportValue, IsThisDocument) {
  EXPECT_EQ(to_json(report_value(sample_report()), -1),
            R"({"scenario":{"model":{"name":"tiny-1b"},"rate":0.12345678901234566},)"
            R"("seed":7,"version":"0.1.0","gpus":2,)"
            R"("requests":{"arrived":4,"completed":2,"failed":1,"unfinished":1,)"
            R"("cancelled":0,"timed_out":0,"rejected":0,"retries":0,)"
            R"("skipped_lines":1,"failed_by":{"context_length":1}},"duration_s":8.0,)"
            R"("throughput":{"requests_per_s":0.25,"input_tokens_per_s":1536.0,)"
            R"("output_tokens_per_s":33.3333333,"per_gpu":{"requests_per_s":0.125,)"
            R"("input_tokens_per_s":768.0,"output_tokens_per_s":16.6666667}},)"
            R"("steady":{"basis":"arrivals","from_s":0.0,"to_s":6.0,"reached":true},)"
            R"("drain":{"duration_s":2.0,"requests":1,"output_tokens":12.0},)"
            R"("whole_run":{"requests_per_s":0.125,"input_tokens_per_s":768.0,)"
            R"("output_tokens_per_s":16.6666667},)"
            R"("ttft_ms":{"mean":50.0,"p50":48.3,"p90":60.0,"p95":61.5,"p99":62.0,"max":1234.5},)"
            R"("tpot_ms":{"mean":7.0,"p50":6.5,"p90":7.25,"p95":7.5,"p99":8.0,"max":9.0},)"
            R"("itl_ms":{"mean":0.05,"p50":0.04,"p90":0.06,"p95":0.07,"p99":0.08,"max":0.1},)"
            R"("e2e_ms":{"mean":2000.0,"p50":1500.0,"p90":2500.0,"p95":3000.0,"p99":3500.0,)"
            R"("max":4000.0},)"
            R"("slo":{"targets":["ttft <= 500 ms","tpot <= 50 ms"],"percentile":99.0,)"
            R"("attainment":0.5,"goodput_per_s":0.25,"met":false},)"
            R"("kv":{"blocks":1000,"block_tokens":16,"peak":0.5,"mean":0.25,"preemptions":1},)"
            R"("gpu_busy":0.75,"batch":{"mean":1.5,"max":3},"iterations":1234,)"
            R"("time_by":{"gemm":6.0,"attention":1.5,"all_reduce":0.5},)"
            R"("step_time_error":{},)"
            R"("origins":{"analytic":20,"measured":3},)"
            R"("memory_bytes":{"weights":2147483648,"kv_cache":8589934592},)"
            R"("cost":{"per_hour":6.5,"per_million_output_tokens":54.17},)"
            R"("energy_j_per_token":12.345,)"
            R"("timeline":{"interval_s":2.0,"time_s":[0.0,2.0,4.0,6.0],)"
            R"("running":[1.0,2.0,3.0,0.0],"waiting":[0.0,0.0,4.0,0.0],)"
            R"("kv_used":[0.125,0.25,0.5,0.0],"output_tokens_per_s":[10.0,20.0,30.0,0.0]},)"
            R"("event_fingerprint":"0000000000abcdef"})");
}

TEST(ReportValue, LeavesCostAndEnergyOutWhereUnknown) {
  const Value value = report_value(Report{});
  EXPECT_EQ(value.find("cost"), nullptr);
  EXPECT_EQ(value.find("energy_j_per_token"), nullptr);
  EXPECT_NE(value.find("timeline"), nullptr);
}

TEST(ReportValue, OfAnEmptyRunHasEmptyTablesAndArrays) {
  const Value value = report_value(Report{});
  EXPECT_EQ(to_json(*value.find("time_by"), -1), "{}");
  EXPECT_EQ(to_json(*value.find("memory_bytes"), -1), "{}");
  EXPECT_EQ(to_json(*value.find("slo")->find("targets"), -1), "[]");
  EXPECT_EQ(to_json(*value.find("timeline")->find("running"), -1), "[]");
}

TEST(ReportValue, DoesNotTouchTheScenariosDigits) {
  const Value value = report_value(sample_report());
  EXPECT_EQ(std::get<double>(value.find("scenario")->find("rate")->data), 0.12345678901234566);
}

TEST(ReportValue, HasClassesOfRequestsOnlyWhereThereAreSeveral) {
  Report report;
  EXPECT_EQ(report_value(report).find("by_priority"), nullptr);
  report.by_priority = {
      {.priority = 0, .arrived = 3, .completed = 2, .ttft_ms = {1, 2, 3, 4, 5, 6}},
      {.priority = 5, .arrived = 7, .completed = 7, .rejected = 1}};
  const std::string text = to_json(*report_value(report).find("by_priority"), -1);
  EXPECT_THAT(
      text,
      testing::StartsWith(
          R"([{"priority":0,"arrived":3,"completed":2,"rejected":0,"ttft_ms":{"mean":1.0,"p50":2.0,)"));
  EXPECT_THAT(text, testing::HasSubstr(R"({"priority":5,"arrived":7,"completed":7,"rejected":1,)"));
  EXPECT_THAT(text, testing::HasSubstr(R"("attainment":)"));
}

TEST(ReportValue, HasSpeculationOnlyWhereThereIsAny) {
  Report report = sample_report();
  EXPECT_EQ(report_value(report).find("speculation"), nullptr);
  report.speculation = Report::Speculation{"eagle", 2, 1000, 2.4, {0.8, 0.6}, 0.05};
  EXPECT_EQ(to_json(*report_value(report).find("speculation")), R"({
  "method": "eagle",
  "drafts": 2,
  "verifications": 1000,
  "acceptance_length": 2.4,
  "accepted_by_position": [
    0.8,
    0.6
  ],
  "draft_share": 0.05
})");
}

TEST(ReportValue, IsReadBackToTheSameDocument) {
  Report report = sample_report();
  report.throughput.output_tokens_per_s = 32;  // what is told per GPU follows from nine digits
  report.pools = {{.name = "prefill",
                   .role = "prefill",
                   .gpu = "h100-sxm",
                   .gpus = 2,
                   .cost_per_hour = 3.5,
                   .fleet = Report::Fleet{.up_max = 2}}};
  report.by_priority = {{.priority = 3, .arrived = 4}};
  report.tenants = {{.name = "web", .arrived = 4}};
  report.fairness = 0.75;
  report.requests.rejected_by = {{"shed", 2}};
  report.kv.host = Report::HostKv{.blocks = 7};
  report.kv_transfers = Report::KvTransfers{.count = 5};
  report.speculation = Report::Speculation{.method = "eagle", .accepted_by_position = {0.5, 0.25}};
  report.host = Report::Host{.work_s = 1.5};
  report.fleet = Report::Fleet{.gpu_hours = 0.5};
  report.network = Report::Network{.flows = 5, .met = 2, .contention_by = {{"node 0 gpu 3 in", 1}}};
  report.step_error.families = {{"gemm", 0.75, 0.0625}};
  report.intervals = {true, intervals_over(figure_values(report), {figure_values(report)})};
  const Value value = report_value(report);
  const Report again = read_report(parse_json(to_json(value), {"report.json"}));
  EXPECT_EQ(to_json(report_value(again)), to_json(value));
  EXPECT_EQ(again.pools.front().name, "prefill");
  EXPECT_EQ(again.tenants.front().name, "web");
  EXPECT_EQ(again.event_fingerprint, report.event_fingerprint);
}

}  // namespace
}  // namespace foretoken
