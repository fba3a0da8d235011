// Time distributions and patience: moments, streams of their own, and the way back to text.

#include "workloads/requests/patience.hpp"

#include <algorithm>
#include <cmath>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::patience_test {
namespace {

constexpr const char* traffic = R"(arrivals = "interval"
rate = "1 /s"
requests = 20000
prompt_tokens = { distribution = "uniform", min = 1, max = 900 }
output_tokens = 5
)";

std::vector<double> samples(const TimeDistribution& times) {
  RandomStream random = RandomStreams(3).stream("test");
  std::vector<double> all;
  for (int i = 0; i < 20'000; ++i) all.push_back(times.sample(random).value());
  std::ranges::sort(all);
  return all;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(TimeDistribution, HasTheMomentsItIsToldBy) {
  EXPECT_EQ(samples(TimeDistribution::fixed(Seconds(3.0))).front(), 3.0);
  EXPECT_EQ(samples(TimeDistribution::fixed(Seconds(3.0))).back(), 3.0);
  const auto uniform = samples(TimeDistribution::uniform(Seconds(2.0), Seconds(6.0)));
  EXPECT_GE(uniform.front(), 2.0);
  EXPECT_LT(uniform.back(), 6.0);
  EXPECT_NEAR(mean(uniform), 4.0, 4 * 4 / std::sqrt(12.0 * 20'000));
  const auto exponential = samples(TimeDistribution::exponential(Seconds(5.0)));
  EXPECT_NEAR(mean(exponential), 5.0, 4 * 5 / std::sqrt(20'000.0));
  EXPECT_NEAR(exponential[10'000], 5.0 * std::log(2.0), 0.15);
  const auto lognormal = samples(TimeDistribution::lognormal(Seconds(8.0), 0.5));
  EXPECT_NEAR(lognormal[10'000], 8.0, 0.15);
  EXPECT_NEAR(std::log(lognormal[16'827] / 8.0), 0.5, 0.03);  // the 84.13th percentile: one sigma
}

TEST(Patience, IsGivenByItsOwnStreams) {
  const auto plain = requests(traffic);
  const auto impatient = requests(
      std::string(traffic) +
      "timeout = \"30 s\"\n"
      "first_token_timeout = { distribution = \"uniform\", min = \"1 s\", max = \"2 s\" }\n"
      "cancellations = { share = 0.25, after = { distribution = \"exponential\", mean = \"4 s\" } "
      "}\n");
  EXPECT_EQ(prompts(plain), prompts(impatient));
  EXPECT_LT(plain.front().timeout, Seconds(0.0));
  int cancelled = 0;
  for (const Request& request : impatient) {
    ASSERT_DOUBLE_EQ(request.timeout.value(), 30.0);
    ASSERT_GE(request.first_token_timeout, Seconds(1.0));
    cancelled += request.cancel_after >= Seconds(0.0) ? 1 : 0;
  }
  EXPECT_NEAR(cancelled, 5000, 4 * 61);  // sqrt(20000 / 4 * 3 / 4)
}

}  // namespace
}  // namespace foretoken::patience_test
