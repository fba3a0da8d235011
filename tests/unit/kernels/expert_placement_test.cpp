#include "kernels/expert_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/expert_load.hpp"

namespace foretoken::expert_placement_test {

using Ranks = std::vector<std::vector<std::int64_t>>;

FusedMoe moe_of(std::int64_t tokens, int ep, int redundant, Routing routing) {
  return {.tokens = tokens,
          .experts = 64,
          .topk = 4,
          .hidden = 1024,
          .intermediate = 512,
          .ep = ep,
          .routing = std::move(routing),
          .redundant = redundant,
          .placed_by_load = true};
}

TEST(ExpertPlacement, PacksTheHeaviestFirst) {
  // 9 to rank 0, 7 and 4 to rank 1, which is full then; 2 to rank 0.
  EXPECT_EQ(placed_by_load({4, 9, 2, 7}, 0, 2), (Ranks{{9, 2}, {7, 4}}));
}

TEST(ExpertPlacement, CopiesTheBusiest) {
  // The first copy halves 90 (45, 45); the second goes to it again, since 45 is still more than any
  // other: 30 each.
  EXPECT_EQ(placed_by_load({90, 20, 10, 6}, 2, 2), (Ranks{{30, 30, 6}, {30, 20, 10}}));
}

TEST(ExpertPlacement, AnOddAssignmentGoesToTheFirstCopy) {
  EXPECT_EQ(placed_by_load({5, 0, 0}, 1, 4), (Ranks{{3}, {2}, {0}, {0}}));
}

TEST(ExpertPlacement, NothingIsLostAndCopiesNeverMakeTheBusiestBusier) {
  for (const Routing& routing : {Routing{}, Routing{Routing::Kind::power_law, 1.2, {}},
                                 Routing{Routing::Kind::balancedness, 0.8, {}}}) {
    for (const std::int64_t tokens : {1, 17, 400, 9000}) {
      const auto counts = expert_counts(routing, tokens, 4, 64);
      double before = static_cast<double>(tokens) * 4;
      for (const int redundant : {0, 16, 64}) {
        std::int64_t sum = 0;
        const Ranks ranks = placed_by_load(counts, redundant, 16);
        for (const auto& rank : ranks) {
          EXPECT_EQ(rank.size(), static_cast<std::size_t>(64 + redundant) / 16);
          sum = std::accumulate(rank.begin(), rank.end(), sum);
        }
        EXPECT_EQ(sum, tokens * 4);
        const ExpertLoad load = busiest_rank_load(moe_of(tokens, 16, redundant, routing));
        EXPECT_EQ(load.held, (64 + redundant) / 16);
        EXPECT_LE(load.assignments, before + 1) << tokens << " tokens, " << redundant << " copies";
        EXPECT_GE(load.assignments, static_cast<double>(tokens) * 4 / 16);
        before = load.assignments;
      }
    }
  }
}

TEST(ExpertPlacement, EvensOutWhatAPowerLawHeaps) {
  const Routing skewed{Routing::Kind::power_law, 1.2, {}};
  FusedMoe placed = moe_of(8000, 16, 48, skewed), as_numbered = placed;
  as_numbered.placed_by_load = false;
  as_numbered.redundant = 0;
  const double mean = 8000.0 * 4 / 16;
  EXPECT_GT(busiest_rank_load(as_numbered).assignments, 1.3 * mean);
  EXPECT_LT(busiest_rank_load(placed).assignments, 1.05 * mean);
}

}  // namespace foretoken::expert_placement_test
