// The table of a validation on its page: what the terminal says of intervals stands there too.
#include "sim/report/validation_columns.hpp"

#include <gtest/gtest.h>

namespace foretoken::validation_columns_test {
namespace {

TEST(ValidationColumns, ThePageHasTheIntervalsInItsOwnUnit) {
  ValidationReport report;
  ValidatedLatency e2e;
  e2e.name = "E2E";
  e2e.measured = {.mean = 12'000, .p50 = 12'000, .p90 = 12'000, .p99 = 12'000};
  e2e.simulated = {.mean = 11'000, .p50 = 11'000, .p90 = 11'000, .p99 = 11'000};
  e2e.low = {.mean = 9'000, .p50 = 11'500, .p90 = 9'000, .p99 = 9'000};
  e2e.high = {.mean = 11'900, .p50 = 13'000, .p90 = 13'000, .p99 = 13'000};
  report.latencies = {e2e};
  report.figures = {{.name = "duration", .unit = "s", .measured = 5, .simulated = 4}};
  const std::vector<PageColumn> columns = validation_columns(report, Ink(false)).page();
  ASSERT_EQ(columns.size(), 7U);
  EXPECT_EQ(columns[5].name, "90 % interval");
  EXPECT_EQ(columns[5].texts[0], "9,000–11,900");  // of figures in ms; the terminal's are in s
  EXPECT_EQ(columns[5].texts[4], "");              // no interval is known of the duration
  EXPECT_EQ(columns[6].name, "inside");
  EXPECT_EQ(columns[6].texts[0], "✗");
  EXPECT_EQ(columns[6].texts[1], "✓");
}

TEST(ValidationColumns, WithoutIntervalsThePageHasNone) {
  ValidationReport report;
  report.latencies.emplace_back().name = "TTFT";
  EXPECT_EQ(validation_columns(report, Ink(false)).page().size(), 5U);
}

}  // namespace
}  // namespace foretoken::validation_columns_test
