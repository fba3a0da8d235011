// Which adapters are where, and what loading takes, by hand.

#include "sim/serving/adapter_cache.hpp"

#include <gmock/gmock.h>

namespace foretoken::adapter_cache_test {
namespace {

using testing::ElementsAre;

constexpr AdapterLimits two_of_three{2, 3, Seconds(0.01), Seconds(0.1)};

double load(AdapterCache& cache, std::vector<std::uint32_t> adapters) {
  return cache.use(adapters).value();
}

TEST(AdapterCache, LoadsFromDiskThenFromTheHostThenNotAtAll) {
  AdapterCache cache(two_of_three);
  EXPECT_DOUBLE_EQ(load(cache, {7, 8}), 2 * (0.1 + 0.01));
  EXPECT_DOUBLE_EQ(load(cache, {7}), 0);
  EXPECT_DOUBLE_EQ(load(cache, {9}), 0.11);  // in place of 8, used longest ago
  EXPECT_THAT(cache.on_gpu(), ElementsAre(7, 9));
  EXPECT_DOUBLE_EQ(load(cache, {8}), 0.01);  // the host has three
  EXPECT_DOUBLE_EQ(load(cache, {}), 0);
  EXPECT_EQ(cache.totals().loads, 4);
  EXPECT_EQ(cache.totals().from_disk, 3);
  EXPECT_EQ(cache.totals().uses, 5);
  EXPECT_EQ(cache.totals().steps, 4);
}

// 7 was used longest ago, and stays: the step needs it.
TEST(AdapterCache, NothingOfAStepMakesRoomForTheRestOfIt) {
  AdapterCache cache(two_of_three);
  load(cache, {7, 8});
  EXPECT_DOUBLE_EQ(load(cache, {9, 7}), 0.11);
  EXPECT_THAT(cache.on_gpu(), ElementsAre(7, 9));
}

TEST(AdapterCache, HostsForgetWhatWasUsedLongestAgo) {
  AdapterCache cache({1, 2, Seconds(0.01), Seconds(0.1)});
  for (const std::uint32_t adapter : {1U, 2U, 3U}) EXPECT_DOUBLE_EQ(load(cache, {adapter}), 0.11);
  EXPECT_DOUBLE_EQ(load(cache, {2}), 0.01);
  EXPECT_DOUBLE_EQ(load(cache, {1}), 0.11);
}

}  // namespace
}  // namespace foretoken::adapter_cache_test
