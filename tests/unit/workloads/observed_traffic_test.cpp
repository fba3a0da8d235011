// Traffic summed up and fitted: histograms keep mean and percentiles, rates and burstiness of
// generated traffic are found again, metrics and ServeGen's clients give what they say.
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
  std::string refused(std::string_view text, std::string_view format = "") const {
    try {
      load_traffic({write("f", text)}, format, {}, false);
    } catch (const ConfigError& error) {
      std::string told = error.what();
      const std::string prefix = folder_.string() + "/";
      for (auto at = told.find(prefix); at != std::string::npos; at = told.find(prefix))
        told.erase(at, prefix.size());
      return told;
    }
    return "no error";
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

constexpr std::string_view page =
    "# TYPE vllm:request_prompt_tokens histogram\n"
    "vllm:request_prompt_tokens_bucket{le=\"100.0\",model_name=\"a \\\"b\\\"\"} 30.0\n"
    "vllm:request_prompt_tokens_bucket{le=\"200.0\",model_name=\"a \\\"b\\\"\"} 90\n"
    "vllm:request_prompt_tokens_bucket{le=\"+Inf\",model_name=\"a \\\"b\\\"\"} 1e+02\n"
    "vllm:request_prompt_tokens_sum 15000\n"
    "vllm:request_prompt_tokens_count 100\n"
    "vllm:generation_tokens_total 2500\n"
    "vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 50\n"
    "vllm:time_to_first_token_seconds_bucket{le=\"0.2\"} 100\n"
    "vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 100\n"
    "vllm:time_to_first_token_seconds_sum 11\n"
    "vllm:time_to_first_token_seconds_count 100\n";

TEST_F(ObservedFiles, AreHistogramsOfVllmsMetrics) {
  const ObservedTraffic traffic =
      load_traffic({write("m.txt", page)}, "", {.over = Seconds(50.0), .window = {}}, false);
  EXPECT_EQ(traffic.format, "prometheus");
  EXPECT_EQ(traffic.requests, 100);
  EXPECT_THAT(traffic.rates, ElementsAre(2.0));
  EXPECT_THAT(traffic.prompt_tokens.edges, ElementsAre(0, 100, 200, 400));
  EXPECT_THAT(traffic.prompt_tokens.weights, ElementsAre(30, 60, 10));
  EXPECT_NEAR(traffic.prompt_tokens.mean(), 150, 1e-6);  // as its sum says
  EXPECT_EQ(traffic.output_tokens.longest(), 25);        // there is but a total
  ASSERT_EQ(traffic.latencies.size(), 1U);
  EXPECT_EQ(traffic.latencies[0].name, "TTFT");
  EXPECT_DOUBLE_EQ(traffic.latencies[0].p50, 100);
  EXPECT_DOUBLE_EQ(traffic.latencies[0].p90, 180);
  EXPECT_DOUBLE_EQ(traffic.latencies[0].mean, 110);
}

TEST_F(ObservedFiles, AreWhatHappenedBetweenTwoPages) {
  std::string later(page);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"} 30.0\n", "} 50\n"},
                                                        {"} 90\n", "} 110\n"},
                                                        {"} 1e+02\n", "} 120\n"},
                                                        {"_sum 15000", "_sum 16000"},
                                                        {"tokens_count 100", "tokens_count 120"},
                                                        {"total 2500", "total 2700"}}) {
    later.replace(later.find(from), from.size(), to);
  }
  const ObservedTraffic traffic = load_traffic({write("a", page), write("b", later)}, "",
                                               {.over = Seconds(10.0), .window = {}}, false);
  EXPECT_EQ(traffic.requests, 20);
  EXPECT_THAT(traffic.rates, ElementsAre(2.0));
  EXPECT_EQ(traffic.prompt_tokens.longest(), 100);
  EXPECT_EQ(traffic.output_tokens.longest(), 10);
}

TEST_F(ObservedFiles, AreRatesOverTimeOfARangeQuery) {
  const ObservedTraffic traffic = load_traffic(
      {std::filesystem::path(FORETOKEN_SOURCE_DIR) / "examples/traffic/metrics_range.json"}, "", {},
      false);
  EXPECT_EQ(traffic.format, "prometheus");
  EXPECT_EQ(traffic.step, Seconds(60.0));
  EXPECT_THAT(traffic.rates, ElementsAre(70 / 60.0, 150 / 60.0, 320 / 60.0, 260 / 60.0, 80 / 60.0));
}

TEST_F(ObservedFiles, CountOnAfterARestart) {
  const ObservedTraffic traffic = load_traffic(
      {write("r.json", R"({"status": "success", "data": {"resultType": "matrix", "result": [
{"metric": {"__name__": "sglang:num_requests_total"}, "values": [[0, "100"], [10, "150"], [20, "30"]]},
{"metric": {"__name__": "sglang:prompt_tokens_total"}, "values": [[0, "0"], [20, "8000"]]},
{"metric": {"__name__": "sglang:generation_tokens_total"}, "values": [[0, "0"], [20, "800"]]}]}})")},
      "", {}, false);
  EXPECT_EQ(traffic.requests, 80);
  EXPECT_THAT(traffic.rates, ElementsAre(5.0, 3.0));
  EXPECT_EQ(traffic.prompt_tokens.longest(), 100);
}

TEST_F(ObservedFiles, OfMetricsSayWhatIsWrong) {
  EXPECT_EQ(refused("# HELP x\nvllm:request_success_total{a=\"b} 3\n"),
            "f:2: expected a metric such as vllm:request_success_total{model_name=\"m\"} 12");
  EXPECT_EQ(refused("# HELP x\nvllm:request_success_total many\n"),
            "f:2: vllm:request_success_total must be a number, found 'many'");
  EXPECT_EQ(
      refused("# HELP x\nvllm:request_success_total 3\n"),
      "f: holds neither request_prompt_tokens_bucket nor prompt_tokens_total of requests that "
      "ended; take all metrics that begin with vllm: or sglang:, after some traffic");
  EXPECT_THAT(refused("{\"data\": {\"resultType\": \"matrix\", \"result\": [\n{\"metric\": {}, "
                      "\"values\": []}]}}"),
              StartsWith("f:2: this series has no name, as after sum() or rate()"));
  EXPECT_THAT(refused("{\"data\": {\"resultType\": \"matrix\", \"res"),
              StartsWith("f:1: is not valid JSON (cut off"));
}

TEST_F(ObservedFiles, OfServegenAreOfTheirWindow) {
  const auto folder = std::filesystem::path(FORETOKEN_SOURCE_DIR) / "examples/traffic";
  const ObservedTraffic traffic =
      load_traffic({folder / "client-dataset.json"}, "",
                   {.over = {}, .window = TimeWindow{Seconds(0.0), Seconds(3600.0)}}, false);
  EXPECT_EQ(traffic.format, "servegen");
  ASSERT_EQ(traffic.rates.size(), 6U);
  EXPECT_EQ(traffic.rates[0], 0.6);
  EXPECT_NEAR(traffic.burstiness, 1 / (1.4 * 1.4), 1e-9);
  EXPECT_GT(traffic.prompt_tokens.mean(), traffic.output_tokens.mean());
}

TEST_F(ObservedFiles, OfServegenSayWhatIsWrong) {
  EXPECT_EQ(refused("0,1,1,Gamma,1,1\n600,1,1,Gamma\n"),
            "f: needs NAME-trace.csv and NAME-dataset.json side by side; name both");
  const auto dataset = write(
      "c-dataset.json", "{\"0\": {\"input_tokens\": \"{5: x}\", \"output_tokens\": \"{6: 1.0}\"}}");
  const auto windows = write("c-trace.csv", "0,1,1,Gamma,1,1\n600,1,1,Gamma,1,1\n");
  try {
    load_traffic({windows}, "", {}, false);
    ADD_FAILURE() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("input_tokens must be a dictionary such as {46: 0.9, 98: 0.1}"));
  }
}

TEST(Servegen, ClientsGiveTheirMeans) {
  const auto windows = third_party("traces/servegen/language_m-small_chunk-18-trace.csv.gz");
  if (windows.empty()) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  // Its first day: rates of the file summed up by hand, and the first dictionaries' lengths.
  const ObservedTraffic traffic = load_traffic(
      {windows}, "", {.over = {}, .window = TimeWindow{Seconds(0.0), Seconds(600.0)}}, false);
  EXPECT_DOUBLE_EQ(traffic.rates.at(0), 26.83);
  EXPECT_NEAR(traffic.burstiness, 1 / (1.1742441907598011 * 1.1742441907598011), 1e-9);
  EXPECT_NEAR(traffic.prompt_tokens.mean(), 46 * 0.99570732935 + 98 * 5.593e-05 + 155 * 0.00423674,
              1e-3);
  for (const char* name : {"language_m-small_chunk-10", "multimodal_mm-image_chunk-5",
                           "reason_deepseek-r1_chunk-19", "reason_deepseek-r1_chunk-66"}) {
    const auto file = third_party(fmt::format("traces/servegen/{}-trace.csv.gz", name));
    const ObservedTraffic client = load_traffic({file}, "", {}, false);
    EXPECT_GT(client.requests, 1000) << name;
    EXPECT_GE(client.output_tokens.mean(), 1) << name;
  }
}

}  // namespace
}  // namespace foretoken::observed_traffic_test
