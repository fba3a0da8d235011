// The table of pools on a page has what the terminal's has.
#include "sim/report/page_pools.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/report/sample_report.hpp"

namespace foretoken::page_pools_test {
namespace {

TEST(PagePools, HaveARowEach) {
  Report report = sample_report();
  EXPECT_TRUE(pool_columns(report).empty());
  Report::Pool pool;
  pool.name = "front";
  pool.role = "prefill";
  pool.gpu = "NVIDIA L40S";
  pool.gpus = 4;
  pool.replicas = 2;
  pool.gpu_busy = 0.25;
  pool.kv_peak = 0.5;
  report.pools.push_back(pool);
  EXPECT_EQ(pool_columns(report).size(), 9U);  // no prices, no column of them
  pool.name = "back";
  pool.cost_per_hour = 7.96;
  report.pools.push_back(pool);
  const std::vector<PageColumn> columns = pool_columns(report);
  ASSERT_EQ(columns.size(), 10U);
  EXPECT_EQ(columns[0].texts, (std::vector<std::string>{"front", "back"}));
  EXPECT_EQ(columns[3].texts[0], "4 x NVIDIA L40S");
  EXPECT_EQ(columns[5].numbers[0], 25);
  EXPECT_EQ(columns[8].numbers[1], 50);
  EXPECT_TRUE(std::isnan(columns[1].numbers[0]));
  EXPECT_EQ(columns[1].numbers[1], 7.96);
}

}  // namespace
}  // namespace foretoken::page_pools_test
