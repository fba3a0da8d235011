// Priorities, tenants and models side by side in the report's table.

#include <gmock/gmock.h>

#include "tests/unit/report/sample_report.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(GroupText, SetsClassesOfRequestsSideBySide) {
  Report report = sample_report();
  EXPECT_THAT(report_table(report, false, 80), Not(HasSubstr("priority")));
  report.slo.targets.clear();
  report.by_priority = {
      {"", 0, 10, 9, 0, {0, 12.5, 0, 0, 40, 0}, {0, 5, 0, 0, 0, 0}, {0, 800, 0, 0, 900, 0}},
      {"", 2, 20, 20, 0, {0, 1200, 0, 0, 9000, 0}, {0, 6.25, 0, 0, 0, 0}, {0, 3e3, 0, 0, 4e4, 0}}};
  EXPECT_THAT(report_table(report, false, 80), HasSubstr(R"(
  priority  ms   completed  TTFT p50  TTFT p99  TPOT p50  E2E p50  E2E p99
  0                9 of 10      12.5      40.0      5.00      800      900
  2               20 of 20     1,200     9,000      6.25    3,000   40,000
)"));
  report.slo.targets = {"ttft <= 50 ms", "priority 2 ttft <= 2 s"};
  report.by_priority[0].attainment = 0.9;
  report.by_priority[1].attainment = 0.625;
  EXPECT_THAT(report_table(report, false, 80), HasSubstr(R"(
  priority  ms   completed  TTFT p50  TTFT p99  TPOT p50  E2E p99  SLO met
  0                9 of 10      12.5      40.0      5.00      900     90 %
  2               20 of 20     1,200     9,000      6.25   40,000   62.5 %
)"));
}

TEST(GroupText, SetsTenantsSideBySideAndSaysHowFairlyTheyWereServed) {
  Report report = sample_report();
  report.slo.targets = {"ttft <= 50 ms"};
  report.tenants = {
      {.name = "web", .arrived = 10, .completed = 9, .rejected = 1, .attainment = 0.9},
      {.name = "batch", .arrived = 20, .completed = 20}};
  report.fairness = 0.98765;
  report.requests.rejected = 3;
  report.requests.rejected_by = {{"shed", 1}};
  const std::string text = report_table(report, false, 80);
  EXPECT_THAT(text, HasSubstr(R"(
  tenant  ms     completed  rejected  TTFT p99  TPOT p50  E2E p99  SLO met
  web              9 of 10         1         0         0        0     90 %
  batch           20 of 20         0         0         0        0    100 %
  fairness       0.988 of 1 (Jain's index over tenants)
)"));
  EXPECT_THAT(text, HasSubstr("1 request rejected: no room in the gateway's queue"));
  EXPECT_THAT(text, HasSubstr("2 requests rejected"));
}

}  // namespace
}  // namespace foretoken
