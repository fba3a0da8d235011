// The table of pages against std::unordered_map, over random additions and removals.
#include "sim/serving/page_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace foretoken {
namespace {

TEST(PageMap, IsEmptyAtFirst) {
  const PageMap map;
  EXPECT_FALSE(map.contains(0));
  EXPECT_EQ(map.find(7), PageMap::none);
  EXPECT_EQ(map.size(), 0U);
}

TEST(PageMap, HoldsWhatAStandardMapHolds) {
  std::mt19937_64 engine(5);
  // Few pages that come and go, and many; neighbours, and pages whose places collide.
  for (const std::uint64_t distinct : {3U, 40U, 5'000U}) {
    for (const std::uint64_t stride : {std::uint64_t{1}, std::uint64_t{1} << 40}) {
      PageMap map;
      std::unordered_map<std::uint64_t, PageMap::Id> plain;
      for (int i = 0; i < 50'000; ++i) {
        const std::uint64_t page = engine() % distinct * stride;
        if (engine() % 3 == 0) {
          if (plain.erase(page) > 0) map.erase(page);
        } else {
          const auto id = static_cast<PageMap::Id>(engine() % 1000);
          map[page] = id;
          plain[page] = id;
        }
        const std::uint64_t asked = engine() % distinct * stride;
        const auto known = plain.find(asked);
        ASSERT_EQ(map.find(asked), known != plain.end() ? known->second : PageMap::none);
      }
      ASSERT_EQ(map.size(), plain.size());
      for (std::uint64_t page = 0; page < distinct; ++page) {
        const auto known = plain.find(page * stride);
        ASSERT_EQ(map.find(page * stride), known != plain.end() ? known->second : PageMap::none);
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
