// What load tools and gateways write, as traces: every example is recognised by its content and
// gives its requests; what failed is left out and counted; what is no request is told with line and
// remedy.
#include <gmock/gmock.h>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::tool_traces_test {
namespace {

std::shared_ptr<const Trace> example(const std::string& name) {
  return load_trace(std::filesystem::path(FORETOKEN_SOURCE_DIR) / "examples/traffic" / name, "",
                    false, trace_format_registry());
}

struct Expected {
  std::string file, format;
  std::size_t requests;
  std::int64_t failed;
  bool has_arrivals;
};

TEST(ToolTraces, AreRecognisedByTheirContent) {
  const std::vector<Expected> all = {{"vllm_bench.json", "vllm_bench", 23, 1, true},
                                     {"sglang_bench.jsonl", "sglang_bench", 40, 0, false},
                                     {"guidellm.json", "guidellm", 30, 0, true},
                                     {"aiperf.jsonl", "aiperf", 26, 4, true},
                                     {"aiperf_inputs.json", "aiperf_inputs", 12, 0, false},
                                     {"openai_batch.jsonl", "openai_batch", 12, 0, false},
                                     {"openai_batch_output.jsonl", "openai_batch", 11, 1, false},
                                     {"litellm.jsonl", "litellm", 28, 2, true},
                                     {"burstgpt.csv", "burstgpt", 29, 1, true},
                                     {"sharegpt.json", "sharegpt", 11, 1, false}};
  for (const Expected& expected : all) {
    SCOPED_TRACE(expected.file);
    const auto trace = example(expected.file);
    EXPECT_EQ(trace->format(), expected.format);
    EXPECT_EQ(trace->size(), expected.requests);
    EXPECT_EQ(trace->failed_requests(), expected.failed);
    EXPECT_EQ(trace->has_arrivals(), expected.has_arrivals);
  }
}

class ToolFiles : public TemporaryFolder {
 protected:
  std::shared_ptr<const Trace> load(const std::string& name, std::string_view text) const {
    return load_trace(write(name, text), "", false, trace_format_registry());
  }
  std::string errors(const std::string& name, std::string_view text,
                     std::string_view format = "") const {
    const auto path = write(name, text);
    try {
      load_trace(path, format, false, trace_format_registry());
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

constexpr std::string_view vllm_text =
    R"({"model_id": "m", "request_rate": "inf", "max_concurrency": 8, "completed": 2,
"input_lens": [100, 200, 300], "output_lens": [10, 0, 30], "start_times": [50.5, 51, 49.25],
"ttfts": [0.1, 0.0, 0.2], "itls": [[0.01], [], [0.02]], "generated_texts": ["a", "b", "c"]})";

TEST_F(ToolFiles, VllmBenchGivesDatesLengthsAndUsers) {
  const auto trace = load("r.json", vllm_text);
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->prompt_tokens(0), 300);
  EXPECT_EQ(trace->output_tokens(1), 10);
  EXPECT_EQ(trace->arrival(1).value(), 1.25);
  EXPECT_EQ(trace->told().users, 8);
}

TEST_F(ToolFiles, BenchResultsWithoutDetailsSayHowToRecordThem) {
  EXPECT_EQ(errors("r.json", R"({"model_id": "m", "completed": 2, "total_input_tokens": 5})"),
            "r.json:1: lacks \"input_lens\"; record with --save-result --save-detailed and a "
            "client of January 2026 or later\n"
            "r.json: 1 malformed line: fix it, or skip it with --skip-bad-lines");
  EXPECT_EQ(errors("s.jsonl", R"({"dataset_name": "random", "completed": 2})"),
            "s.jsonl:1: lacks \"input_lens\"; record with --output-details\n"
            "s.jsonl: 1 malformed line: fix it, or skip it with --skip-bad-lines");
  EXPECT_THAT(errors("t.json", R"({"model_id": "m", "completed": 2, "input_lens": [1],
"output_lens": [1, 2], "start_times": [3]})"),
              ::testing::StartsWith("t.json:1: input_lens has 1 elements and output_lens 2, "
                                    "start_times 1"));
}

TEST_F(ToolFiles, SglangBenchTellsItsRate) {
  const auto trace = load(
      "s.jsonl",
      R"({"dataset_name": "random", "request_rate": 2.5, "completed": 1, "input_lens": [7], "output_lens": [9]}
{"dataset_name": "random", "request_rate": 2.5, "completed": 1, "input_lens": [8], "output_lens": [9]})");
  EXPECT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->told().requests_per_s, 2.5);
  EXPECT_EQ(trace->told().burstiness, 1.0);
}

TEST_F(ToolFiles, GuidellmKnowsThePlacesOfItsVersions) {
  const auto trace = load("g.json", R"({"benchmarks": [{"requests": {"successful": [
{"prompt_tokens": 5, "output_tokens": 6, "start_time": 10.0},
{"info": {"timings": {"request_start": 12.5}}, "input_metrics": {"total_tokens": 7},
 "output_metrics": {"total_tokens": 8}}], "errored": [{"prompt_tokens": 1}]}}]})");
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->arrival(1).value(), 2.5);
  EXPECT_EQ(trace->output_tokens(1), 8);
  EXPECT_EQ(errors("h.json",
                   "{\"benchmarks\": [{\"requests\": {\"successful\": [\n"
                   "{\"prompt_tokens\": 5, \"start_time\": 1}]}}]}"),
            "h.json:2: lacks \"output_tokens\"\n"
            "h.json: 1 malformed line: fix it, or skip it with --skip-bad-lines");
}

TEST_F(ToolFiles, AiperfSaysWhichMetricIsMissing) {
  EXPECT_EQ(
      errors(
          "p.jsonl",
          R"({"metadata": {"request_start_ns": 1}, "metrics": {"input_sequence_length": {"value": 3}}, "error": null})"
          "\n"),
      "p.jsonl:1: lacks metrics.output_sequence_length.value\n"
      "p.jsonl: 1 malformed line: fix it, or skip it with --skip-bad-lines");
}

TEST_F(ToolFiles, PromptsOfTextCountFourBytesAToken) {
  // "user\n" + 12 + "\n" = 18 bytes
  const auto sent = load(
      "b.jsonl",
      R"({"custom_id": "a", "body": {"messages": [{"role": "user", "content": "twelve bytes"}], "max_tokens": 9}})");
  EXPECT_EQ(sent->prompt_tokens(0), 5);
  EXPECT_EQ(sent->output_tokens(0), 9);
  const auto prepared = load(
      "i.json",
      R"({"data": [{"session_id": "s", "payloads": [{"prompt": [1, 2, 3], "max_tokens": 4}]}]})");
  EXPECT_EQ(prepared->prompt_tokens(0), 3);
  const auto shared = load(
      "c.json",
      R"([{"conversations": [{"from": "human", "value": "12345"}, {"from": "gpt", "value": "1234"}, {"from": "human", "value": "more"}]}])");
  EXPECT_EQ(shared->prompt_tokens(0), 2);
  EXPECT_EQ(shared->output_tokens(0), 1);
}

TEST_F(ToolFiles, OpenaiBatchNeedsToKnowHowLongAnswersAre) {
  EXPECT_EQ(
      errors("b.jsonl",
             R"({"custom_id": "a", "body": {"messages": [{"role": "user", "content": "hi"}]}})"
             "\n"),
      "b.jsonl:1: has neither max_completion_tokens nor max_tokens, so the length of the answer is "
      "unknown; give the file of answers instead\n"
      "b.jsonl: 1 malformed line: fix it, or skip it with --skip-bad-lines");
}

TEST_F(ToolFiles, LitellmReadsBothOfItsClocks) {
  const auto list =
      load("l.json",
           R"([{"startTime": "2026-03-02T10:00:00.5Z", "prompt_tokens": 3, "completion_tokens": 4},
{"startTime": "2026-03-02 10:00:02+00:00", "prompt_tokens": 5, "completion_tokens": 6, "cache_hit": "False"},
{"startTime": "2026-03-02 10:00:03", "prompt_tokens": 5, "completion_tokens": 6, "cache_hit": "True"}])");
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ(list->arrival(1).value(), 1.5);
  EXPECT_EQ(list->failed_requests(), 1);
}

TEST_F(ToolFiles, BurstgptWithoutItsColumnsIsRefused) {
  EXPECT_EQ(errors("b.csv", "Timestamp,Request tokens,Log Type\n1,2,API log\n"),
            "b.csv:1: expected a header with Timestamp, Request tokens, Response tokens");
}

TEST_F(ToolFiles, HoldObjects) {
  for (const char* format : {"vllm_bench", "sglang_bench", "litellm"}) {
    EXPECT_THAT(errors("f", "\"dataset_name\"", format),
                ::testing::StartsWith("f:1: expected an object, found "));
  }
}

TEST_F(ToolFiles, AreRefusedWhereTheyAreCutOff) {
  for (const std::string_view end : {"", "}", "]"}) {
    const std::string text = std::string(vllm_text.substr(0, 150)) + std::string(end);
    EXPECT_THAT(errors("cut.json", text),
                ::testing::StartsWith("cut.json:2: is not valid JSON (cut off"))
        << end;
  }
  EXPECT_EQ(errors("all.jsonl", R"({"custom_id": "a", "response": {"status_code": 500}})"
                                "\n"),
            "all.jsonl: no request is left: all 1 failed");
}

}  // namespace
}  // namespace foretoken::tool_traces_test
