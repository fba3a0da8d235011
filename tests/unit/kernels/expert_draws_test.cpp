#include "kernels/expert_draws.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/expert_load.hpp"
#include "sim/base/random.hpp"

namespace foretoken::expert_draws_test {
namespace {

FusedMoe layer(std::int64_t tokens, int experts, int topk, double range, int ep = 1) {
  FusedMoe moe;
  moe.tokens = tokens;
  moe.experts = experts;
  moe.topk = topk;
  moe.ep = ep;
  moe.routing = {Routing::Kind::popularity, range, {}};
  return moe;
}

TEST(ExpertDraws, EqualPopularitiesByHand) {
  // Of 4 experts, each token draws 2: a token leaves an expert with probability 1/2, so that after
  // 3 tokens 4 x (1 - 1/8) have work, and 4 x (1 - 1/8 - 3/8) more than one row.
  const ExpertLoad load = busiest_rank_load(layer(3, 4, 2, 1));
  EXPECT_NEAR(load.active, 3.5, 1e-6);
  EXPECT_NEAR(load.assignments, 6, 1e-6);
  EXPECT_NEAR(load.held, 4, 1e-9);
  double more_than_one = 0;
  busiest_draws(1, 3, 2, 4, 4, 1).visit([&](double experts, double each) {
    if (each > 1) more_than_one += experts;
  });
  EXPECT_NEAR(more_than_one, 2, 1e-6);
}

TEST(ExpertDraws, OneTokenDrawsTopkExperts) {
  for (const double range : {1.0, 30.0, 1000.0}) {
    const ExpertLoad load = busiest_rank_load(layer(1, 256, 8, range));
    EXPECT_NEAR(load.active, 8, 1e-6) << range;
    EXPECT_NEAR(load.largest, 1, 1e-6) << range;
    const auto counts = drawn_counts(range, 1, 8, 256);
    EXPECT_EQ(std::ranges::count(counts, 1), 8) << range;
  }
}

TEST(ExpertDraws, ExpertsThatAreAlwaysDrawnGetEveryToken) {
  // 2 of 2 experts, whatever their popularity; and a range that would ask for more than each token.
  EXPECT_NEAR(busiest_rank_load(layer(50, 2, 2, 30)).largest, 50, 1e-6);
  const ExpertLoad load = busiest_rank_load(layer(50, 4, 3, 1e6));
  EXPECT_NEAR(load.assignments, 150, 1e-6);
  EXPECT_LE(load.largest, 50);
}

TEST(ExpertDraws, CountsAddUp) {
  for (const std::int64_t tokens : {1, 7, 33, 500, 8192}) {
    for (const double range : {1.0, 30.0, 1e4}) {
      const auto counts = drawn_counts(range, tokens, 8, 128);
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), tokens * 8);
      EXPECT_TRUE(std::ranges::is_sorted(counts, std::ranges::greater()));
      EXPECT_LE(counts.front(), tokens);
      EXPECT_GE(counts.back(), 0);
    }
  }
}

/// Tokens that draw experts of such popularities one by one, averaged.
ExpertLoad drawn_one_by_one(const FusedMoe& moe, int draws) {
  const PopularityLaw law{1, 1, moe.routing.parameter};
  RandomStream random = RandomStreams(11).stream("experts");
  ExpertLoad sum;
  double largest = 0;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> chance(static_cast<std::size_t>(moe.experts));
    double total = 0;
    for (std::size_t i = 0; i < chance.size(); ++i) {
      chance[i] = law.quantile((static_cast<double>(i) + 0.5) / moe.experts);
      total += chance[i];
    }
    ExpertLoad load;
    for (double& one : chance) {
      one = std::min(1.0, one / total * moe.topk);
      std::int64_t count = 0;
      for (std::int64_t token = 0; token < moe.tokens; ++token) count += uniform(random) < one;
      load.add(1, static_cast<double>(count));
    }
    sum.active += load.active / draws;
    largest += load.largest / draws;
    for (std::size_t i = 0; i < sum.tiles.size(); ++i) sum.tiles[i] += load.tiles[i] / draws;
  }
  sum.largest = largest;
  return sum;
}

TEST(ExpertDraws, AsDrawnOneByOne) {
  for (const std::int64_t tokens : {3, 20, 100, 700}) {
    const FusedMoe moe = layer(tokens, 64, 4, 30);
    const ExpertLoad expected = busiest_rank_load(moe), drawn = drawn_one_by_one(moe, 400);
    EXPECT_NEAR(expected.active / drawn.active, 1, 0.02) << tokens;
    EXPECT_NEAR(expected.largest / drawn.largest, 1, 0.12) << tokens;
    for (const int rows : moe_tile_rows) {
      EXPECT_NEAR(expected.tiles_of(rows) / drawn.tiles_of(rows), 1, 0.03) << tokens << ' ' << rows;
    }
  }
}

TEST(ExpertDraws, BusiestOfRanksAsDrawnOneByOne) {
  // Ranks that hold experts at random.
  constexpr int ranks = 8, held = 16, draws = 600;
  for (const std::int64_t tokens : {8, 64, 512}) {
    const FusedMoe moe = layer(tokens, ranks * held, 4, 30, ranks);
    const PopularityLaw law{1, 1, 30};
    RandomStream random = RandomStreams(12).stream("ranks");
    double busiest = 0;
    for (int draw = 0; draw < draws; ++draw) {
      std::vector<double> chance(ranks * held);
      double total = 0;
      for (double& one : chance) total += one = law.quantile(uniform(random));
      double most = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        double sum = 0;
        for (std::size_t i = 0; i < held; ++i) {
          const double one = std::min(1.0, chance[rank * held + i] / total * moe.topk);
          for (std::int64_t token = 0; token < tokens; ++token) sum += uniform(random) < one;
        }
        most = std::max(most, sum);
      }
      busiest += most / draws;
    }
    EXPECT_NEAR(busiest_rank_load(moe).assignments / busiest, 1, 0.05) << tokens;
  }
}

TEST(ExpertDraws, MoreTokensLoadNoLess) {
  for (const auto& [experts, topk] : {std::pair{8, 2}, {128, 4}, {256, 8}, {512, 10}}) {
    for (const int ep : {1, 8}) {
      ExpertLoad before = busiest_rank_load(layer(1, experts, topk, 30, ep));
      for (std::int64_t tokens = 2; tokens <= 2050; ++tokens) {
        const ExpertLoad load = busiest_rank_load(layer(tokens, experts, topk, 30, ep));
        EXPECT_GE(load.active, before.active * (ep > 1 ? 0.995 : 1 - 1e-9)) << tokens;
        EXPECT_GE(load.assignments, before.assignments * (1 - 1e-9)) << tokens;
        EXPECT_GE(load.largest, before.largest * 0.98) << tokens;
        EXPECT_GE(load.tiles_of(16), before.tiles_of(16) * 0.995) << tokens;
        EXPECT_GE(load.tiles_of(128), before.tiles_of(128) * 0.995) << tokens;
        before = load;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken::expert_draws_test
