// Traffic summed up and fitted: histograms keep mean and percentiles, rates and burstiness of
// generated traffic are found again.
#include "workloads/requests/observed_traffic.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "tests/unit/workloads/requests_fixture.hpp"
#include "workloads/requests/statistics_format.hpp"

namespace foretoken::observed_traffic_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

double mean(const std::vector<std::int64_t>& values) {
  return static_cast<double>(std::accumulate(values.begin(), values.end(), std::int64_t{0})) /
         static_cast<double>(values.size());
}

TEST(LengthHistograms, KeepFewLengthsEachByItself) {
  const LengthHistogram few = length_histogram({{46, 99}, {98, 1}, {46, 1}});
  EXPECT_THAT(few.edges, ElementsAre(45, 46, 97, 98));
  EXPECT_THAT(few.weights, ElementsAre(100, 0, 1));
  EXPECT_EQ(few.at(0.5, 0.9), 46);
  EXPECT_EQ(few.at(0.999, 0.1), 98);
  EXPECT_DOUBLE_EQ(few.mean(), (46 * 100 + 98) / 101.0);
  EXPECT_EQ(few.longest(), 98);
}

TEST(LengthHistograms, KeepMeanAndPercentilesOfMany) {
  std::vector<WeightedLength> lengths;
  for (int i = 1; i <= 20'000; ++i) lengths.push_back({i * i / 20'000 + 1});  // long tail
  for (int i = 0; i < 5'000; ++i) lengths.push_back({1024});                  // and a favourite
  const LengthHistogram histogram = length_histogram(lengths);
  double sum = 0;
  for (const WeightedLength& length : lengths) sum += length.tokens;
  const double exact = sum / static_cast<double>(lengths.size());
  EXPECT_NEAR(histogram.mean(), exact, 0.005 * exact);
  std::ranges::sort(lengths, {}, &WeightedLength::tokens);
  for (const double p : {0.1, 0.5, 0.9, 0.95, 0.99}) {
    const int tokens =
        lengths[static_cast<std::size_t>(p * static_cast<double>(lengths.size()))].tokens;
    EXPECT_NEAR(histogram.quantile(p), tokens, 0.05 * tokens) << p;
  }
  EXPECT_EQ(histogram.longest(), 20'001);
  EXPECT_LE(histogram.weights.size(), 44U);
}

TEST(LengthHistograms, TakeTheSkewThatGivesTheMean) {
  // Both buckets are 100 wide: means of 30.5 and 130.5 with a third within, so skew 7/3.
  const LengthHistogram histogram = with_mean({{0, 100, 200}, {1, 1}}, 80.5);
  EXPECT_NEAR(histogram.skew, 100.0 / 30.0 - 1, 1e-9);
  EXPECT_NEAR(histogram.mean(), 80.5, 1e-9);
}

TEST(Histogram, DrawsWhatItSays) {
  const auto drawn =
      prompts(requests("arrivals = \"all_at_once\"\nrequests = 40000\noutput_tokens = 5\n"
                       "prompt_tokens = { distribution = \"histogram\", edges = [0, 100, 200, "
                       "400], weights = [1, 0, 3], skew = 2 }"));
  // The mean of u^2 is 1/3: 0.25 x (0.5 + 33.3) + 0.75 x (200.5 + 66.7) = 208.8, sd about 100.
  EXPECT_NEAR(mean(drawn), 208.8, 4 * 100 / 200.0);
  EXPECT_EQ(std::ranges::count_if(drawn, [](auto tokens) { return tokens > 100 && tokens <= 200; }),
            0);
  EXPECT_GE(*std::ranges::min_element(drawn), 1);
  EXPECT_LE(*std::ranges::max_element(drawn), 400);
}

TEST(Histogram, SaysWhatIsWrong) {
  const auto told = [](const std::string& keys) {
    return read(
               "arrivals = \"all_at_once\"\nrequests = 4\noutput_tokens = 5\n"
               "prompt_tokens = { distribution = \"histogram\", " +
               keys + " }")
        .errors;
  };
  EXPECT_THAT(told("edges = [1, 2], weights = [1, 2]"),
              HasSubstr("has 2 elements; 2 weights need 3"));
  EXPECT_THAT(told("edges = [1, 1, 2], weights = [1, 2]"), HasSubstr("must ascend"));
  EXPECT_THAT(told("edges = [1, 2], weights = [0]"), HasSubstr("must not all be 0"));
  EXPECT_THAT(told("weights = [1]"), HasSubstr("edges"));
}

TEST(Profile, BringsEachStepsRequestsAndEnds) {
  const auto times =
      arrivals(requests("arrivals = \"profile\"\nstep = \"100 s\"\nrates = [20, 0, 60]\n"
                        "prompt_tokens = 5\noutput_tokens = 5"));
  std::array<int, 3> counts = {};
  for (const double time : times) ++counts.at(static_cast<std::size_t>(time / 100));
  EXPECT_NEAR(counts[0], 2000, 4 * std::sqrt(2000));
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 6000, 4 * std::sqrt(6000));
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_THAT(read("arrivals = \"profile\"\nstep = \"1 s\"\nrates = [0, 0]\nprompt_tokens = 5\n"
                   "output_tokens = 5")
                  .errors,
              HasSubstr("must not all be 0"));
}

class ObservedFiles : public TemporaryFolder {
 protected:
  /// `arrivals` as keys of a [workload], written as a trace and looked at.
  ObservedTraffic observe(const std::string& arrivals) const {
    std::string text = "arrival_s,prompt_tokens,output_tokens\n";
    for (const Request& request : requests(arrivals + "\noutput_tokens = 7\nprompt_tokens = 9"))
      text += fmt::format("{:.6f},9,7\n", request.arrival.value());
    return load_traffic({write("t.csv", text)}, "", {}, false);
  }
};

TEST_F(ObservedFiles, FindTheRateAndThatItIsPoisson) {
  const ObservedTraffic traffic =
      observe("arrivals = \"poisson\"\nrate = \"5 /s\"\nrequests = 8000");
  ASSERT_EQ(traffic.rates.size(), 1U);
  EXPECT_NEAR(traffic.rates[0], 5.0, 4 * 5.0 / std::sqrt(8000));
  EXPECT_EQ(traffic.burstiness, 1.0);
  std::vector<std::string> notes;
  const Value fitted = fitted_workload(traffic, 500, notes);
  EXPECT_THAT(to_toml(fitted), StartsWith("arrivals = \"poisson\"\n"));
  EXPECT_EQ(std::get<std::int64_t>(fitted.find("prompt_tokens")->data), 9);
}

TEST_F(ObservedFiles, FindBursts) {
  const ObservedTraffic traffic =
      observe("arrivals = \"gamma\"\nburstiness = 0.25\nrate = \"5 /s\"\nrequests = 8000");
  ASSERT_EQ(traffic.rates.size(), 1U);
  EXPECT_NEAR(traffic.burstiness, 0.25, 0.05);
}

TEST_F(ObservedFiles, FindThatTheRateChanges) {
  const ObservedTraffic traffic =
      observe("arrivals = \"profile\"\nstep = \"400 s\"\nrates = [2, 10]");
  ASSERT_GT(traffic.rates.size(), 2U);
  EXPECT_NEAR(traffic.rates.front(), 2, 1.0);
  EXPECT_NEAR(traffic.rates.back(), 10, 2.0);
  EXPECT_EQ(traffic.burstiness, 1.0);
}

}  // namespace
}  // namespace foretoken::observed_traffic_test
