// Traffic of which only statistics are left: metrics and ServeGen's clients give what they say, and
// what is wrong with them is told.
#include <gmock/gmock.h>

#include "tests/unit/workloads/requests_fixture.hpp"
#include "workloads/requests/statistics_format.hpp"

namespace foretoken::statistics_formats_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class StatisticsFiles : public TemporaryFolder {
 protected:
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

TEST_F(StatisticsFiles, AreHistogramsOfVllmsMetrics) {
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

TEST_F(StatisticsFiles, AreWhatHappenedBetweenTwoPages) {
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

TEST_F(StatisticsFiles, ThatAreOutOfOrderAreToldOf) {
  const std::string older =
      "vllm:prompt_tokens_total 500\nvllm:generation_tokens_total 50\n"
      "vllm:request_success_total 5\n";
  const std::string newer =
      "vllm:prompt_tokens_total 900\nvllm:generation_tokens_total 90\n"
      "vllm:request_success_total 9\n";
  const auto summed = [&](const std::string& first, const std::string& second) {
    return load_traffic({write("x", first), write("y", second)}, "", {}, false);
  };
  EXPECT_THAT(summed(older, newer).notes, IsEmpty());
  EXPECT_THAT(summed(newer, older).notes, ElementsAre(HasSubstr("taken as a server restart")));
  const std::string start = "process_start_time_seconds 17e8\n";
  EXPECT_THAT(summed(newer + start, older + "process_start_time_seconds 18e8\n").notes, IsEmpty());
  try {
    summed(newer + start, older + start);
    ADD_FAILURE() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("y: is older than the page before"));
  }
}

TEST_F(StatisticsFiles, AreRatesOverTimeOfARangeQuery) {
  const ObservedTraffic traffic = load_traffic(
      {std::filesystem::path(FORETOKEN_SOURCE_DIR) / "examples/traffic/metrics_range.json"}, "", {},
      false);
  EXPECT_EQ(traffic.format, "prometheus");
  EXPECT_EQ(traffic.step, Seconds(60.0));
  EXPECT_THAT(traffic.rates, ElementsAre(70 / 60.0, 150 / 60.0, 320 / 60.0, 260 / 60.0, 80 / 60.0));
}

TEST_F(StatisticsFiles, CountOnAfterARestart) {
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

TEST_F(StatisticsFiles, OfMetricsSayWhatIsWrong) {
  EXPECT_EQ(refused("# HELP x\nvllm:request_success_total{a=\"b} 3\n"),
            "f:2: expected a metric such as vllm:request_success_total{model_name=\"m\"} 12");
  EXPECT_EQ(refused("# HELP x\nvllm:request_success_total many\n"),
            "f:2: vllm:request_success_total must be a number, found 'many'");
  EXPECT_EQ(refused("# HELP x\nvllm:request_success_total 31\nvllm:prompt_tokens_total 9"),
            "f:3: this last line is not terminated, so the page is cut off; save it again (a "
            "complete page ends with a line feed)");
  EXPECT_EQ(refused("# HELP x\nvllm:request_success_total 3\n"),
            "f: holds neither request_prompt_tokens_bucket nor prompt_tokens_total of requests "
            "that ended; save all metrics that begin with vllm: or sglang:, after some traffic");
  EXPECT_THAT(refused("{\"data\": {\"resultType\": \"matrix\", \"result\": [\n{\"metric\": {}, "
                      "\"values\": []}]}}"),
              StartsWith("f:2: this series has no name, as after sum() or rate()"));
  EXPECT_THAT(refused("{\"data\": {\"resultType\": \"matrix\", \"res"),
              StartsWith("f:1: is not valid JSON (cut off"));
}

TEST_F(StatisticsFiles, OfServegenAreOfTheirWindow) {
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

TEST_F(StatisticsFiles, OfSeveralClientsAreAddedUp) {
  write("a-dataset.json", R"({"0": {"input_tokens": "{10: 1.0}", "output_tokens": "{6: 1.0}"}})");
  std::string many;  // longer than what a format is recognised by
  for (int i = 0; i < 10'000; ++i) many += ", 40: 0.0";
  write("b-dataset.json",
        R"({"0": {"input_tokens": "{40: 1.0)" + many + R"(}", "output_tokens": "{2: 1.0}"}})");
  const auto a = write("a-trace.csv", "0,1,1,Gamma,1,1\n600,2,1,Gamma,1,1\n");
  const auto b = write("b-trace.csv", "0,3,2,Gamma,1,1\n600,0,1,,,\n1200,3,2,Gamma,1,1\n");
  const ObservedTraffic traffic =
      load_traffic({a, b, a.parent_path() / "b-dataset.json"}, "", {}, false);
  EXPECT_THAT(traffic.rates, ElementsAre(4.0, 2.0, 3.0));
  EXPECT_EQ(traffic.requests, 9 * 600);
  EXPECT_DOUBLE_EQ(traffic.burstiness, 9.0 / (3 * 1 + 6 * 4));
  EXPECT_DOUBLE_EQ(traffic.prompt_tokens.mean(), (3 * 10 + 6 * 40) / 9.0);
  const auto other = write("c-trace.csv", "0,1,1,Gamma,1,1\n60,2,1,Gamma,1,1\n");
  write("c-dataset.json", R"({"0": {"input_tokens": "{10: 1.0}", "output_tokens": "{6: 1.0}"}})");
  try {
    load_traffic({a, other}, "", {}, false);
    ADD_FAILURE() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("c-trace.csv: has a window every 60 s, but a-trace.csv one every 600 s"));
  }
}

TEST_F(StatisticsFiles, OfServegenSayWhatIsWrong) {
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
}  // namespace foretoken::statistics_formats_test
