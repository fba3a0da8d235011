// What load tools would say of a run: three requests worked out by hand. The first gets 5 tokens,
// the second a single one, the third is cancelled.
#include "sim/report/load_tools.hpp"

#include <gmock/gmock.h>

#include "sim/base/json.hpp"

namespace foretoken::load_tools_test {
namespace {

using ::testing::HasSubstr;

/// First token after 0.1 s, then gaps of 10, 20, 10 and 40 ms: TPOT 20 ms.
Report three_requests() {
  Report report;
  report.scenario = ValueObject{
      {"model", ValueObject{{"name", "llama-3.1-8b"}}},
      {"workload", ValueObject{{"arrivals", "poisson"}, {"rate", "4 /s"}, {"requests", 3}}}};
  report.gpus = 2;
  const auto row = [&](std::uint32_t id, double arrival, std::int64_t prompt, std::int64_t output) {
    RequestRow made;
    made.id = id;
    made.arrival_s = arrival;
    made.prompt_tokens = prompt;
    made.output_tokens = output;
    made.status = "completed";
    return made;
  };
  RequestRow first = row(0, 1.0, 100, 5);
  first.ttft_ms = 100;
  first.e2e_ms = 180;
  first.ended_s = 1.18;
  RequestRow second = row(1, 1.5, 200, 1);
  second.ttft_ms = 300;
  second.e2e_ms = 300;
  second.ended_s = 1.8;
  RequestRow third = row(2, 2.0, 300, 3);
  third.status = "cancelled";
  third.ttft_ms = 50;
  third.ended_s = 3.0;
  report.rows = {first, second, third};
  return report;
}

TokenGaps gaps() { return {{{0.01F, 0.02F, 0.01F, 0.04F}, {}, {0.5F, 0.5F}}}; }

double number(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  if (found == nullptr) return -1;
  if (const auto* whole = std::get_if<std::int64_t>(&found->data))
    return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&found->data);
  return real == nullptr ? -2 : *real;
}

TEST(LoadTools, VllmsFileHasItsTotalsAndLists) {
  const Value file = parse_json(vllm_bench_json(three_requests(), gaps()), {"f", 1});
  EXPECT_EQ(number(file, "num_prompts"), 3);
  EXPECT_EQ(number(file, "completed"), 2);
  EXPECT_EQ(number(file, "failed"), 1);
  EXPECT_EQ(number(file, "request_rate"), 4);
  EXPECT_EQ(number(file, "duration"), 2.0);  // 1 s to 3 s
  EXPECT_EQ(number(file, "total_input_tokens"), 300);
  EXPECT_EQ(number(file, "total_output_tokens"), 6);
  EXPECT_EQ(number(file, "output_throughput"), 3.0);
  EXPECT_EQ(number(file, "total_token_throughput"), 153.0);
  EXPECT_EQ(number(file, "mean_ttft_ms"), 200.0);
  EXPECT_EQ(number(file, "std_ttft_ms"), 100.0);
  EXPECT_EQ(number(file, "p99_ttft_ms"), 298.0);
  EXPECT_EQ(number(file, "mean_tpot_ms"), 20.0);  // of the first alone
  EXPECT_NEAR(number(file, "mean_itl_ms"), 20.0, 1e-4);
  EXPECT_NEAR(number(file, "median_itl_ms"), 15.0, 1e-4);
  EXPECT_EQ(number(file, "max_output_tokens_per_s"), 6);  // all within a second
  EXPECT_EQ(number(file, "max_concurrent_requests"), 2);
  EXPECT_EQ(to_json(*file.find("output_lens"), -1), "[5,1,0]");
  EXPECT_EQ(to_json(*file.find("itls"), -1), "[[0.01,0.02,0.01,0.04],[],[]]");
  EXPECT_EQ(to_json(*file.find("errors"), -1), "[\"\",\"\",\"cancelled\"]");
}

TEST(LoadTools, AiperfsLinesSayWhatBecameOfEach) {
  const std::string text = aiperf_jsonl(three_requests(), gaps());
  const Value first = parse_json(text.substr(0, text.find('\n')), {"f", 1});
  const Value* metrics = first.find("metrics");
  ASSERT_NE(metrics, nullptr);
  EXPECT_EQ(number(*metrics->find("inter_token_latency"), "value"), 20.0);
  EXPECT_EQ(number(*metrics->find("output_token_throughput_per_user"), "value"), 50.0);
  EXPECT_EQ(number(*first.find("metadata"), "request_start_ns"), 1e9);
  EXPECT_THAT(text, HasSubstr("\"was_cancelled\": true, \"cancellation_time_ns\": 3000000000"));
  EXPECT_THAT(text, HasSubstr("\"error_isl\": {\"value\": 300, \"unit\": \"tokens\"}}, \"error\": "
                              "{\"code\": 499, \"type\": \"cancelled\""));
}

TEST(LoadTools, GapsThatWereNotKeptAreNotInvented) {
  TokenGaps none;
  none.is_whole = false;
  const Value file = parse_json(vllm_bench_json(three_requests(), none), {"f", 1});
  EXPECT_EQ(file.find("itls"), nullptr);
  EXPECT_EQ(file.find("mean_itl_ms"), nullptr);
  EXPECT_EQ(number(file, "mean_tpot_ms"), 20.0);
}

TEST(LoadTools, CountAsEachOfThemDoes) {
  const Value vllm = tool_metrics_value(tool_metrics(LoadTool::vllm, three_requests(), gaps()));
  EXPECT_EQ(number(*vllm.find("tpot_ms"), "mean"), 20.0);
  EXPECT_EQ(number(*vllm.find("e2el_ms"), "mean"), 240.0);
  const Value aiperf = tool_metrics_value(tool_metrics(LoadTool::aiperf, three_requests(), gaps()));
  EXPECT_EQ(number(*aiperf.find("output_token_throughput_per_user"), "mean"), 50.0);
  // 5 / 0.18 s and 1 / 0.3 s
  EXPECT_NEAR(number(*aiperf.find("e2e_output_token_throughput"), "mean"), (5 / 0.18 + 1 / 0.3) / 2,
              1e-9);
  const Value inferencex =
      tool_metrics_value(tool_metrics(LoadTool::inferencex, three_requests(), gaps()));
  EXPECT_EQ(number(*inferencex.find("median_intvty"), "value"), 50.0);
  EXPECT_EQ(number(*inferencex.find("tput_per_gpu"), "value"), 76.5);
  EXPECT_EQ(number(*inferencex.find("output_tput_per_gpu"), "value"), 1.5);
  // 180 / 5 and 300 / 1, the first token included
  EXPECT_EQ(number(*inferencex.find("e2e_per_token_ms"), "mean"), 168.0);
}

TEST(LoadTools, TablesSayWhatTheyCountAndFit) {
  for (const LoadTool tool : {LoadTool::vllm, LoadTool::aiperf, LoadTool::inferencex}) {
    const std::string text =
        tool_metrics_text(tool_metrics(tool, three_requests(), gaps()), 80, false);
    EXPECT_THAT(text, HasSubstr("(E2E - TTFT)"));
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
      EXPECT_LE(end - begin, 80U) << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

}  // namespace
}  // namespace foretoken::load_tools_test
