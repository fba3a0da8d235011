// Histograms at a wanted balancedness: exponents and shares against values computed apart, draws
// against their mode's promise.
#include "kernels/tiles/expert_histogram.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "kernels/expert_shares.hpp"
#include "kernels/routing.hpp"
#include "kernels/tiles/moe_layer.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;

constexpr std::array all_modes = {HistogramMode::active_subset, HistogramMode::zipf,
                                  HistogramMode::onehot_mix, HistogramMode::topk_distinct};

RandomStream stream() { return RandomStreams(7).stream("test"); }

double mean_of_draws(const HistogramRequest& request, int draws) {
  RandomStream random = stream();
  double sum = 0;
  for (int i = 0; i < draws; ++i) sum += balancedness(draw_histogram(request, random));
  return sum / draws;
}

TEST(ExpertHistogram, AddsUpInEveryMode) {
  RandomStream random = stream();
  for (const HistogramMode mode : all_modes) {
    const auto counts = draw_histogram({64, 8, 100, 0.7, mode}, random);
    EXPECT_EQ(counts.size(), 64U);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 800)
        << enum_name(mode);
  }
}

// Exponents s for beta at 64 experts, computed with another program: 2.733, 1.660, 1.025.
TEST(ExpertHistogram, ZipfsExponentGivesTheEntropy) {
  EXPECT_NEAR(popularity_exponent(0.2, 64), 2.733, 0.001);
  EXPECT_NEAR(popularity_exponent(0.5, 64), 1.660, 0.001);
  EXPECT_NEAR(popularity_exponent(0.8, 64), 1.025, 0.001);
  EXPECT_NEAR(popularity_exponent(0.8, 256), 0.959, 0.001);
}

// 64^0.5 = 8 experts of 64: 12.5 % active, the paper's 8 to 14 %.
TEST(ExpertHistogram, ActiveSubsetIsExact) {
  RandomStream random = stream();
  const auto counts = draw_histogram({64, 8, 50, 0.5, HistogramMode::active_subset}, random);
  EXPECT_EQ(active_experts(counts), 8);
  EXPECT_DOUBLE_EQ(balancedness(counts), 0.5);
}

// Alpha-MoE's q for 64 experts is not the balancedness: 0.2, 0.5, 0.8 give 0.315, 0.657, 0.909.
TEST(ExpertHistogram, OnehotMixIsSolvedForTheEntropy) {
  for (const auto& [wanted, q] : {std::pair{0.315, 0.2}, {0.657, 0.5}, {0.909, 0.8}}) {
    const auto shares = histogram_shares({64, 8, 1, wanted, HistogramMode::onehot_mix});
    EXPECT_NEAR(shares.back() * 64, q, 0.002);
    EXPECT_NEAR(relative_entropy(shares), wanted, 1e-9);
  }
}

TEST(ExpertHistogram, DrawsReachTheBalancednessWithManyAssignments) {
  for (const HistogramMode mode :
       {HistogramMode::zipf, HistogramMode::onehot_mix, HistogramMode::topk_distinct}) {
    EXPECT_NEAR(mean_of_draws({64, 8, 1024, 0.75, mode}, 4), 0.75, 0.02) << enum_name(mode);
  }
}

TEST(ExpertHistogram, DistinctExpertsHaveAFloor) {
  EXPECT_DOUBLE_EQ(balancedness_floor(64, 8), 0.5);
  EXPECT_NEAR(balancedness_floor(128, 8), 0.4286, 1e-4);
  EXPECT_NEAR(balancedness_floor(256, 8), 0.375, 1e-9);
  RandomStream random = stream();
  // One token of 8 distinct experts of 64 is at the floor, whatever was asked for.
  EXPECT_DOUBLE_EQ(
      balancedness(draw_histogram({64, 8, 1, 0.9, HistogramMode::topk_distinct}, random)), 0.5);
  try {
    draw_histogram({64, 8, 32, 0.2, HistogramMode::topk_distinct}, random);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("balancedness 0.2 cannot be reached with 8 distinct "
                                        "experts of 64 per token: it is at least 0.500"));
  }
}

TEST(ExpertHistogram, DistinctExpertsTakeAtMostAllTokens) {
  RandomStream random = stream();
  const auto counts = draw_histogram({32, 4, 64, 0.6, HistogramMode::topk_distinct}, random);
  EXPECT_LE(*std::ranges::max_element(counts), 64);
}

TEST(ExpertHistogram, SameStreamSameHistogram) {
  for (const HistogramMode mode : all_modes) {
    RandomStream one = stream(), other = stream();
    const HistogramRequest request{128, 8, 64, 0.6, mode};
    const auto counts = draw_histogram(request, one);
    EXPECT_EQ(counts, draw_histogram(request, other)) << enum_name(mode);
    EXPECT_NE(counts, draw_histogram(request, one)) << enum_name(mode);
  }
}

}  // namespace
}  // namespace foretoken
