// Length distributions: moments within four standard errors, the lognormal's two ways of being
// told against its formulas, a Zipf law small enough for hand calculation.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::lengths_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<std::int64_t> drawn(const std::string& distribution, int count = 40000) {
  return prompts(requests("arrivals = \"all_at_once\"\nrequests = " + std::to_string(count) +
                          "\noutput_tokens = 1\nprompt_tokens = " + distribution));
}

double mean(const std::vector<std::int64_t>& values) {
  return static_cast<double>(std::accumulate(values.begin(), values.end(), std::int64_t{0})) /
         static_cast<double>(values.size());
}

std::int64_t quantile(std::vector<std::int64_t> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size()))];
}

TEST(Lengths, AnIntegerIsAFixedLength) {
  EXPECT_THAT(drawn("512", 3), Each(512));
  EXPECT_THAT(drawn("{ distribution = \"fixed\", value = 512 }", 3), Each(512));
}

TEST(Lengths, UniformReachesBothEndsEquallyOften) {
  std::map<std::int64_t, int> counts;
  for (const auto tokens : drawn("{ distribution = \"uniform\", min = 5, max = 8 }")) {
    ++counts[tokens];
  }
  ASSERT_EQ(counts.size(), 4U);
  // Binomial with p = 1/4: sqrt(40000 * 1/4 * 3/4) = 86.6.
  for (const auto& [tokens, count] : counts) {
    EXPECT_GE(tokens, 5);
    EXPECT_LE(tokens, 8);
    EXPECT_NEAR(count, 10000, 4 * 86.6);
  }
}

TEST(Lengths, LognormalHasTheMeanAndP99ItWasGiven) {
  const auto values = drawn("{ distribution = \"lognormal\", mean = 1020, p99 = 4000 }");
  // ln(4000/1020) = 1.36649 = z s - s^2/2 with z = 2.32635 gives s = z - sqrt(z^2 - 2.73298) =
  // 0.68847 and the median 1020 exp(-s^2/2) = 804.76.
  // Standard errors of n = 40000: mean 1020 sqrt(exp(s^2) - 1) / 200 = 3.97; a quantile q of share
  // p has q s sqrt(p (1 - p)) / (200 phi(z_p)): p99 51.4 (phi = 0.026652), median 3.47.
  EXPECT_NEAR(mean(values), 1020.0, 4 * 3.97);
  EXPECT_NEAR(static_cast<double>(quantile(values, 0.99)), 4000.0, 4 * 51.4);
  EXPECT_NEAR(static_cast<double>(quantile(values, 0.5)), 804.76, 4 * 3.47);
}

TEST(Lengths, LognormalHasTheMedianAndSigmaItWasGiven) {
  const auto values = drawn("{ distribution = \"lognormal\", median = 200, sigma = 0.5 }");
  // Mean 200 exp(0.125) = 226.63, its standard error 226.63 sqrt(exp(0.25) - 1) / 200 = 0.604;
  // the median's 200 * 0.5 * 0.5 / (200 * 0.39894) = 0.627.
  EXPECT_NEAR(mean(values), 226.63, 4 * 0.604);
  EXPECT_NEAR(static_cast<double>(quantile(values, 0.5)), 200.0, 4 * 0.627);
}

TEST(Lengths, LognormalOfEqualMeanAndP99IsAConstant) {
  EXPECT_THAT(drawn("{ distribution = \"lognormal\", mean = 300, p99 = 300 }", 100), Each(300));
}

TEST(Lengths, LognormalAtTheLargestP99IsStillSolved) {
  // exp(z^2 / 2) = 14.968: there s = z, and the median is 10000 exp(-2.706) = 668.
  const auto values = drawn("{ distribution = \"lognormal\", mean = 10000, p99 = 149670 }");
  EXPECT_NEAR(static_cast<double>(quantile(values, 0.5)), 668.0, 4 * 668 * 2.32 * 0.5 / 79.8);
}

TEST(Lengths, LognormalClampsToMinAndMax) {
  const auto values =
      drawn("{ distribution = \"lognormal\", median = 100, sigma = 1, min = 50, max = 200 }");
  EXPECT_EQ(*std::ranges::min_element(values), 50);
  EXPECT_EQ(*std::ranges::max_element(values), 200);
  // P(below 50) = Phi(-ln 2) = 0.24411; sqrt(40000 * 0.24411 * 0.75589) = 85.9. Rounding adds
  // those up to 50.5: Phi(ln 0.505) = 0.24729.
  EXPECT_NEAR(static_cast<double>(std::ranges::count(values, 50)), 40000 * 0.24729, 4 * 86.3);
}

TEST(Lengths, LognormalNeverGoesBelowOneToken) {
  const auto values = drawn("{ distribution = \"lognormal\", median = 1, sigma = 3 }");
  EXPECT_EQ(*std::ranges::min_element(values), 1);
}

TEST(Lengths, ZipfFollowsItsPowerLaw) {
  std::map<std::int64_t, int> counts;
  for (const auto tokens :
       drawn("{ distribution = \"zipf\", min = 1, max = 3, exponent = 1 }", 66000)) {
    ++counts[tokens];
  }
  // Weights 1, 1/2, 1/3 of 11/6: shares 6/11, 3/11, 2/11.
  EXPECT_NEAR(counts[1], 36000, 4 * std::sqrt(66000.0 * 6 * 5) / 11);
  EXPECT_NEAR(counts[2], 18000, 4 * std::sqrt(66000.0 * 3 * 8) / 11);
  EXPECT_NEAR(counts[3], 12000, 4 * std::sqrt(66000.0 * 2 * 9) / 11);
}

TEST(Lengths, ZipfWeighsLengthsThemselvesNotTheirRanks) {
  std::map<std::int64_t, int> counts;
  for (const auto tokens :
       drawn("{ distribution = \"zipf\", min = 100, max = 200, exponent = 2 }")) {
    ++counts[tokens];
  }
  // 200 tokens are (200/100)^-2 = a quarter as likely as 100: some 780 and 195 of 40000.
  const double ratio = static_cast<double>(counts[100]) / counts[200];
  EXPECT_NEAR(ratio, 4.0, 4 * 4.0 * std::sqrt(1.0 / 780 + 1.0 / 195));
}

TEST(Lengths, SeedOneGivesTheseLengths) {
  EXPECT_THAT(drawn("{ distribution = \"lognormal\", mean = 1020, p99 = 4000 }", 4),
              ElementsAre(719, 1830, 486, 1150));
  EXPECT_THAT(drawn("{ distribution = \"uniform\", min = 1, max = 1000 }", 4),
              ElementsAre(139, 528, 566, 285));
  EXPECT_THAT(drawn("{ distribution = \"zipf\", min = 1, max = 1000, exponent = 0.6 }", 4),
              ElementsAre(14, 226, 264, 58));
}

TEST(Lengths, ChangingOneStreamShiftsNoOther) {
  const auto traffic = [](const std::string& arriving, const std::string& prompt,
                          const std::string& output) {
    return requests("requests = 200\n" + arriving + "\nprompt_tokens = " + prompt +
                    "\noutput_tokens = " + output);
  };
  const std::string poisson = "arrivals = \"poisson\"\nrate = \"4 /s\"";
  const std::string gamma = "arrivals = \"gamma\"\nrate = \"9 /s\"\nburstiness = 0.5";
  const std::string lognormal = "{ distribution = \"lognormal\", mean = 1020, p99 = 4000 }";
  const std::string uniform = "{ distribution = \"uniform\", min = 1, max = 1000 }";
  const auto base = traffic(poisson, lognormal, uniform);

  const auto other_arrivals = traffic(gamma, lognormal, uniform);
  EXPECT_NE(arrivals(base), arrivals(other_arrivals));
  EXPECT_EQ(prompts(base), prompts(other_arrivals));
  EXPECT_EQ(outputs(base), outputs(other_arrivals));

  const auto other_prompts = traffic(poisson, uniform, uniform);
  EXPECT_EQ(arrivals(base), arrivals(other_prompts));
  EXPECT_NE(prompts(base), prompts(other_prompts));
  EXPECT_EQ(outputs(base), outputs(other_prompts));

  const auto other_outputs = traffic(poisson, lognormal, "7");
  EXPECT_EQ(arrivals(base), arrivals(other_outputs));
  EXPECT_EQ(prompts(base), prompts(other_outputs));
}

TEST(Lengths, PromptsAndOutputsOfOneDistributionDiffer) {
  const std::string uniform = "{ distribution = \"uniform\", min = 1, max = 1000 }";
  const auto all =
      requests("arrivals = \"all_at_once\"\nrequests = 50\nprompt_tokens = " + uniform +
               "\noutput_tokens = " + uniform);
  EXPECT_NE(prompts(all), outputs(all));
}

TEST(Lengths, AnotherSeedGivesOtherRequests) {
  const auto result = read(
      "arrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 50\noutput_tokens = 5\n"
      "prompt_tokens = { distribution = \"uniform\", min = 1, max = 1000 }");
  ASSERT_EQ(result.errors, "");
  EXPECT_EQ(prompts(requests(*result.workload, 3)), prompts(requests(*result.workload, 3)));
  EXPECT_NE(prompts(requests(*result.workload, 3)), prompts(requests(*result.workload, 4)));
  EXPECT_NE(arrivals(requests(*result.workload, 3)), arrivals(requests(*result.workload, 4)));
}

}  // namespace
}  // namespace foretoken::lengths_test
