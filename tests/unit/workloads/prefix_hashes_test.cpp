// Runs of hashes against the list of hashes that they stand for.
#include "workloads/requests/prefix_hashes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/base/random.hpp"

namespace foretoken::prefix_hashes_test {
namespace {

std::vector<std::uint64_t> one_by_one(PrefixRuns runs) {
  std::vector<std::uint64_t> all;
  for (PrefixRun run : runs) {
    for (; run.count > 0; run = run.behind(1)) all.push_back(run.first);
  }
  return all;
}

std::vector<PrefixRun> listed(PrefixRuns runs) {
  std::vector<PrefixRun> all;
  runs.append_to(all);
  return all;
}

TEST(PrefixHashes, ARunEndsWhereHashesDo) {
  const std::uint64_t last = ~std::uint64_t{0};
  const PrefixHashes hashes{last - 1, last, 0, 1, 5};
  EXPECT_THAT(listed(hashes.first(5)),
              testing::ElementsAre(PrefixRun{last - 1, 2}, PrefixRun{0, 2}, PrefixRun{5, 1}));
  PrefixHashes at_once;
  at_once.append({last - 1, 4});
  at_once.append({5, 1});
  EXPECT_EQ(at_once, hashes);
  at_once.shift(1);
  EXPECT_EQ(at_once, (PrefixHashes{last, 0, 1, 2, 6}));
}

TEST(PrefixHashes, PartsAreThoseOfTheList) {
  const PrefixHashes hashes{10, 11, 12, 7, 40, 41};
  EXPECT_THAT(listed(hashes.part(1, 5)),
              testing::ElementsAre(PrefixRun{11, 2}, PrefixRun{7, 1}, PrefixRun{40, 1}));
  EXPECT_TRUE(hashes.part(6, 6).empty());
  EXPECT_EQ(hashes.first(9).size(), 6);
  EXPECT_TRUE(PrefixHashes().first(3).empty());
}

TEST(PrefixHashes, AreTheListThatTheyStandFor) {
  RandomStream random = RandomStreams(11).stream("hashes");
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  PrefixHashes hashes;
  std::vector<std::uint64_t> list;
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t first = below(40) - 20;  // on both sides of the last hash
    switch (below(6)) {
      case 0:
        hashes.push_back(first);
        list.push_back(first);
        break;
      case 1: {
        const auto count = static_cast<std::int64_t>(below(9));
        hashes.append({first, count});
        for (std::int64_t i = 0; i < count; ++i)
          list.push_back(first + static_cast<std::uint64_t>(i));
        break;
      }
      case 2:
        hashes.shift(first);
        for (std::uint64_t& hash : list) hash += first;
        break;
      case 3: {
        const std::size_t left = below(60);
        hashes.shorten(static_cast<std::int64_t>(left));
        list.resize(std::min(left, list.size()));
        break;
      }
      default:
        break;
    }
    ASSERT_EQ(hashes.size(), list.size());
    ASSERT_TRUE(std::ranges::equal(hashes, list));
    ASSERT_EQ(hashes, PrefixHashes(list)) << "runs are as long as they can be";
    const std::size_t begin = below(list.size() + 1);
    const std::size_t end = begin + below(list.size() - begin + 1);
    const PrefixRuns part =
        hashes.part(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
    const std::vector<std::uint64_t> expected(list.begin() + static_cast<std::ptrdiff_t>(begin),
                                              list.begin() + static_cast<std::ptrdiff_t>(end));
    ASSERT_EQ(one_by_one(part), expected);
    for (std::size_t i = 0; i < list.size(); ++i) ASSERT_EQ(hashes[i], list[i]);
    const PrefixHashes copy = expected;
    ASSERT_TRUE(part == copy.first(part.size()));
  }
}

}  // namespace
}  // namespace foretoken::prefix_hashes_test
