#include "kernels/routing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace foretoken::routing_test {
namespace {

using testing::ElementsAre;

std::string error_of(std::string_view text) {
  try {
    parse_routing(text, {"cases.jsonl", 3});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

TEST(Routing, TextReadsBack) {
  for (const char* text : {"balanced", "power_law:1.2", "power_law:0", "popularity:30",
                           "popularity:1", "balancedness:0.8"}) {
    EXPECT_EQ(routing_text(parse_routing(text, {})), text);
  }
}

TEST(Routing, MistakesAreNamed) {
  EXPECT_EQ(error_of("even"),
            "cases.jsonl:3: unknown routing 'even'; write \"balanced\", \"popularity:30\", "
            "\"power_law:1.2\" or \"balancedness:0.8\"");
  EXPECT_EQ(
      error_of("popularity:0.5"),
      "cases.jsonl:3: routing 'popularity:0.5': the most popular expert's popularity over the "
      "least popular one's must be at least 1, for example \"popularity:30\"");
  EXPECT_EQ(error_of("power_law:-1"),
            "cases.jsonl:3: routing 'power_law:-1': the exponent must be a number from 0 up, for "
            "example \"power_law:1.2\"");
  EXPECT_EQ(error_of("power_law:1.2x"),
            "cases.jsonl:3: routing 'power_law:1.2x': the exponent must be a number from 0 up, for "
            "example \"power_law:1.2\"");
  EXPECT_EQ(error_of("balancedness:0"),
            "cases.jsonl:3: routing 'balancedness:0': balancedness must be above 0 and at most 1, "
            "for example \"balancedness:0.8\"");
  EXPECT_EQ(error_of("balancedness:nan"),
            "cases.jsonl:3: routing 'balancedness:nan': balancedness must be above 0 and at most "
            "1, for example \"balancedness:0.8\"");
}

TEST(ExpertHistogram, Balanced) {
  EXPECT_THAT(expert_histogram({}, 10, 1, 4), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(expert_histogram({}, 1, 2, 4), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(expert_histogram({}, 0, 1, 2), ElementsAre(0, 0));
}

TEST(PopularityLaw, ByHand) {
  // 100 tokens x 2 over 4 experts: density 1 / x over [1, 80].
  const PopularityLaw law = popularity_law(1.0, 100, 2, 4);
  EXPECT_DOUBLE_EQ(law.low, 1);
  EXPECT_DOUBLE_EQ(law.high, 80);
  EXPECT_NEAR(law.quantile(0.5), std::sqrt(80.0), 1e-9);
  EXPECT_NEAR(law.moment(1), 79 / std::log(80.0), 1e-9);  // integral of 1 over that of 1 / x
  // Exponent 0 is uniform: the middle is 40.5, and so is the mean.
  const PopularityLaw flat = popularity_law(0.0, 100, 2, 4);
  EXPECT_NEAR(flat.quantile(0.5), 40.5, 1e-9);
  EXPECT_NEAR(flat.moment(1), 40.5, 1e-9);
  // No more assignments than experts: over [0.01, 2].
  EXPECT_DOUBLE_EQ(popularity_law(1.0, 2, 2, 4).high, 2);
}

TEST(ExpertHistogram, PowerLawByHand) {
  // Log-uniform over [1, 80]: quantiles 7/8, 5/8, 3/8, 1/8 are 80 to that
  // power: 46.26, 15.47, 5.17, 1.73, in all 68.62. Of 200 assignments the first would get 134.8,
  // but a token asks for an expert once: 100. The others share 100 as 15.47, 5.17, 1.73
  // of 22.37: 69.2, 23.1, 7.7.
  const Routing routing{Routing::Kind::power_law, 1.0, {}};
  EXPECT_THAT(expert_histogram(routing, 100, 2, 4), ElementsAre(100, 69, 23, 8));
}

TEST(ExpertHistogram, GivenCountsKeepTheirOrderByExpertAndScale) {
  const Routing routing{Routing::Kind::histogram, 0, {1, 0, 3}};
  EXPECT_THAT(expert_counts(routing, 4, 1, 3), ElementsAre(1, 0, 3));
  EXPECT_THAT(expert_histogram(routing, 4, 1, 3), ElementsAre(3, 1, 0));
  // 10 x (1/4, 0, 3/4) = 2.5, 0, 7.5: the tie goes to the lower number.
  EXPECT_THAT(expert_counts(routing, 10, 1, 3), ElementsAre(3, 0, 7));
}

TEST(ExpertHistogram, AddsUpExactlyAndDescends) {
  for (const Routing& routing :
       {Routing{}, Routing{Routing::Kind::power_law, 1.2, {}},
        Routing{Routing::Kind::balancedness, 0.5, {}},
        Routing{Routing::Kind::histogram, 0, {5, 1, 0, 0, 9, 2, 2, 2, 1, 1, 1, 3, 3, 0, 7, 4}}}) {
    for (const std::int64_t assignments : {0L, 1L, 7L, 16L, 1000L, 65536L * 8L, 123456789012L}) {
      const auto histogram = expert_histogram(routing, assignments, 1, 16);
      EXPECT_EQ(sum(histogram), assignments) << routing_text(routing);
      EXPECT_TRUE(std::ranges::is_sorted(histogram, std::ranges::greater()));
      EXPECT_GE(histogram.back(), 0);
    }
  }
}

// Exponents whose power law has the given balancedness, computed independently of this program by
// bisection (three decimals).
TEST(ExpertHistogram, BalancednessFindsTheKnownExponent) {
  struct Known {
    int experts;
    double balancedness, exponent;
  };
  for (const Known& known : {Known{8, 0.2, 3.637}, Known{8, 0.5, 2.201}, Known{8, 0.8, 1.261},
                             Known{64, 0.5, 1.660}, Known{128, 0.5, 1.559}, Known{256, 0.2, 2.396},
                             Known{256, 0.5, 1.480}, Known{256, 0.8, 0.959}}) {
    constexpr std::int64_t assignments = 1'000'000'000;
    const auto histogram = expert_histogram({Routing::Kind::balancedness, known.balancedness, {}},
                                            assignments, 1, known.experts);
    // p_1 / p_2 = 2^exponent.
    EXPECT_NEAR(std::log2(static_cast<double>(histogram[0]) / static_cast<double>(histogram[1])),
                known.exponent, 0.0006)
        << known.experts << " experts, balancedness " << known.balancedness;
    EXPECT_NEAR(balancedness(histogram), known.balancedness, 1e-6);
  }
}

TEST(ExpertHistogram, BalancednessAtItsEnds) {
  EXPECT_THAT(expert_histogram({Routing::Kind::balancedness, 1.0, {}}, 8, 1, 4),
              ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(expert_histogram({Routing::Kind::balancedness, 1e-300, {}}, 8, 1, 4),
              ElementsAre(8, 0, 0, 0));
  EXPECT_THAT(expert_histogram({Routing::Kind::balancedness, 0.5, {}}, 8, 1, 1), ElementsAre(8));
}

TEST(Balancedness, ByHand) {
  EXPECT_DOUBLE_EQ(balancedness({5, 5, 5, 5}), 1.0);
  EXPECT_DOUBLE_EQ(balancedness({7, 0, 0, 0}), 0.0);
  // Half of the experts share all: ln 2 / ln 4.
  EXPECT_DOUBLE_EQ(balancedness({3, 3, 0, 0}), 0.5);
  // 27, 2, 2, 1 of 32 over 16 experts: entropy 0.599 over ln 16 = 2.773.
  EXPECT_NEAR(balancedness({27, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 0.216, 0.0005);
}

}  // namespace
}  // namespace foretoken::routing_test
