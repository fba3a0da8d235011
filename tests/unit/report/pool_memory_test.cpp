// Whose KV cache and memory a report tells where pools differ.
#include "sim/report/pool_memory.hpp"

#include <gmock/gmock.h>

#include "sim/report/terminal_text.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace foretoken::pool_memory_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Report with_pools(std::int64_t weights_of_first) {
  Report report = sample_report();
  Report::Pool pool;
  pool.name = "front";
  pool.role = "prefill";
  pool.memory_bytes = report.memory_bytes;
  pool.memory_bytes.front().count = weights_of_first;
  report.pools.push_back(pool);
  pool.name = "back";
  pool.role = "decode";
  pool.memory_bytes = report.memory_bytes;
  report.pools.push_back(pool);
  return report;
}

TEST(PoolMemory, IsToldOfEachPoolWhereTheyDiffer) {
  const std::string text = report_table(with_pools(std::int64_t{5} << 30), false, 80);
  EXPECT_THAT(text, HasSubstr("  GPU memory     of front · weights 5 GiB · KV cache 8 GiB\n"
                              "                 of back · weights 2 GiB · KV cache 8 GiB\n"));
  EXPECT_THAT(text, HasSubstr("  KV cache       of back · peak 50.0 %"));
}

TEST(PoolMemory, IsToldOnceWhereTheyAreAlike) {
  const std::string text = report_table(with_pools(std::int64_t{2} << 30), false, 80);
  EXPECT_THAT(text, HasSubstr("  GPU memory     weights 2 GiB · KV cache 8 GiB\n"));
  EXPECT_THAT(text, Not(HasSubstr("weights 2 GiB · KV cache 8 GiB\n                 of")));
}

TEST(PoolMemory, WithoutPoolsNamesNone) {
  const Report report = sample_report();
  EXPECT_EQ(kv_pool(report), "");
  ASSERT_EQ(pool_memories(report).size(), 1U);
  EXPECT_EQ(pool_memories(report).front().pool, "");
}

}  // namespace
}  // namespace foretoken::pool_memory_test
