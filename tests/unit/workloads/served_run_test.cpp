// Recorded runs: clocks, both file forms, and what is said about bad lines.

#include "workloads/measurements/served_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sim/base/error.hpp"
#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

class ServedRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = own_folder() / "served";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  [[nodiscard]] std::string error() const {
    try {
      (void)load_served_run(folder);
    } catch (const ConfigError& mistake) {
      std::string text = mistake.what();
      for (std::size_t at = text.find(folder.string()); at != std::string::npos;
           at = text.find(folder.string())) {
        text.replace(at, folder.string().size(), "DIR");
      }
      return text;
    }
    return "";
  }

  std::filesystem::path folder;
};

TEST_F(ServedRunTest, AiperfsRecordsAreOne) {
  const auto record = [](double sent_s, const char* more) {
    return fmt::format(R"({{"metadata": {{"request_start_ns": {:.0f}}}, "metrics": {{)"
                       R"("input_sequence_length": {{"value": 20}}, )"
                       R"("output_sequence_length": {{"value": 5}}{}}}}})"
                       "\n",
                       sent_s * 1e9, more);
  };
  const char* times =
      R"(, "time_to_first_token": {"value": 50}, "request_latency": {"value": 250})";
  const std::string warm_up =
      R"({"metadata": {"request_start_ns": 1, "benchmark_phase": "warmup"}, "metrics": {}})";
  const std::string failed =
      R"({"metadata": {"request_start_ns": 2}, "metrics": {}, "error": {"code": 500}})";
  write("profile_export.jsonl",
        warm_up + "\n" + record(1000.5, times) + failed + "\n" + record(1000, times) + "\n");
  const ServedRun run = load_served_run(folder);
  ASSERT_EQ(run.requests.size(), 2U);
  EXPECT_EQ(run.failed, 1);
  EXPECT_EQ(run.requests[0].prompt_tokens, 20);
  EXPECT_NEAR(run.requests[1].arrival.value(), 0.5, 1e-6);
  EXPECT_NEAR(run.requests[1].ttft().value(), 0.05, 1e-6);
  EXPECT_NEAR(run.requests[1].tpot().value(), 0.05, 1e-6);

  write("profile_export.jsonl", record(1000, times) + record(1000, ""));
  EXPECT_EQ(error(),
            "DIR/profile_export.jsonl:2: lacks a time_to_first_token within "
            "request_latency; record with --streaming");
}

TEST_F(ServedRunTest, StampsOfAnotherClockCountFromTheQuickestHandOver) {
  write(
      "requests.jsonl",
      R"({"request_id": "b", "input_toks": 20, "output_toks": 3, "arrival_time": 1000.5, )"
      R"("queued_ts": 50.52, "scheduled_ts": 50.6, "first_token_ts": 51.0, "last_token_ts": 52.0})"
      "\n"
      R"({"request_id": "a", "input_toks": 10, "output_toks": 1, "arrival_time": 1000, )"
      R"("queued_ts": 50.01, "scheduled_ts": 50.02, "first_token_ts": 50.1, "last_token_ts": 50.1})"
      "\n");
  const ServedRun run = load_served_run(folder);
  ASSERT_EQ(run.requests.size(), 2U);
  EXPECT_TRUE(run.has_two_clocks);
  EXPECT_EQ(run.requests[0].id, "a") << "in order of arrival";
  EXPECT_NEAR(run.requests[0].ttft().value(), 0.09, 1e-9);
  EXPECT_EQ(run.requests[0].tpot().value(), 0.0);
  EXPECT_NEAR(run.requests[1].queued->value(), 0.51, 1e-9);
  EXPECT_NEAR(run.requests[1].ttft().value(), 0.49, 1e-9);
  EXPECT_NEAR(run.requests[1].tpot().value(), 0.5, 1e-9);
  EXPECT_NEAR(run.requests[1].end_to_end().value(), 1.49, 1e-9);
  EXPECT_NEAR(run.duration().value(), 1.99, 1e-9);
}

TEST_F(ServedRunTest, TimesThatAreNoneAreRefused) {
  write("requests.csv",
        "request_id,input_toks,output_toks,arrival_time,first_token_ts,last_token_ts\n"
        "a,12,3,nan,0.75,1.25\n");
  EXPECT_EQ(error(), "DIR/requests.csv:2: arrival_time: must be a number, not 'nan'");
  std::filesystem::remove(folder / "requests.csv");
  write("result.json",
        R"({"input_lens": [5], "output_lens": [3], "ttfts": [0.5], "itls": [[0.5, -2]]})");
  EXPECT_EQ(error(), "DIR/result.json: \"itls\" holds -2, which is not a time in s");
  std::filesystem::remove(folder / "result.json");
  write("requests.jsonl",
        R"({"input_toks": 1, "output_toks": 3, "arrival_time": 1, "first_token_ts": NaN, )"
        R"("last_token_ts": 3})"
        "\n");
  EXPECT_EQ(error(),
            "DIR/requests.jsonl:1: a time is NaN: write a number of seconds, or leave it out");
}

/// Requests every two seconds, which the engine had 10 ms later, in units of each clock.
std::string two_clocks(double sent_unit_s, double engine_unit_s) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    const double sent = 1000.0 + 2.0 * i, had = 50.01 + 2.0 * i;
    text += fmt::format(R"({{"input_toks": 1, "output_toks": 2, "arrival_time": {}, )"
                        R"("queued_ts": {}, "first_token_ts": {}, "last_token_ts": {}}})"
                        "\n",
                        sent / sent_unit_s, had / engine_unit_s, (had + 0.1) / engine_unit_s,
                        (had + 0.2) / engine_unit_s);
  }
  return text;
}

TEST_F(ServedRunTest, AClockOfMillisecondsIsTold) {
  write("requests.jsonl", two_clocks(1.0, 1.0));
  EXPECT_EQ(error(), "");
  write("requests.jsonl", two_clocks(1.0, 1e-3));
  EXPECT_EQ(error(),
            "DIR/requests.jsonl:3: from the first request to this one, arrival_time advances by 4, "
            "queued_ts by 4000: the timestamps are in ms; write all times in s");
  write("requests.jsonl", two_clocks(1e-3, 1.0));
  EXPECT_EQ(error(),
            "DIR/requests.jsonl:3: from the first request to this one, arrival_time advances by "
            "4000, queued_ts by 4: arrival_time is in ms; write all times in s");
}

TEST_F(ServedRunTest, CsvOnOneClockNeedsNoQueuedStamp) {
  write("requests.csv",
        "input_toks,output_toks,arrival_time,first_token_ts,last_token_ts\n"
        "10,2,5.0,5.25,5.5\n");
  const ServedRun run = load_served_run(folder);
  EXPECT_FALSE(run.has_two_clocks);
  EXPECT_NEAR(run.requests[0].ttft().value(), 0.25, 1e-12);
  EXPECT_FALSE(run.requests[0].queued);
}

TEST_F(ServedRunTest, ARunInAFolderBelowIsPointedAt) {
  std::filesystem::create_directories(folder / "vllm");
  std::filesystem::create_directories(folder / "other");
  write("vllm/requests.csv", "");
  EXPECT_EQ(error(), "DIR: this folder holds no recorded run, but one below does: name DIR/vllm");
}

TEST_F(ServedRunTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(
      error(),
      "DIR: this folder holds neither requests.jsonl nor requests.csv, and no result of a load "
      "tool; `foretoken validate --help` says what they hold");
  write("requests.jsonl",
        R"({"input_toks": 10, "output_toks": 1, "arrival_time": 1, "first_token_ts": 2})"
        "\n"
        R"({"input_toks": 10, "output_toks": 1, "arrival_time": 1, "first_token_ts": 3, )"
        R"("last_token_ts": 2})"
        "\n"
        R"({"input_toks": 10, "outp)");
  const std::string text = error();
  EXPECT_NE(text.find("requests.jsonl:1: \"last_token_ts\" is missing"), std::string::npos) << text;
  EXPECT_NE(text.find("requests.jsonl:2: last_token_ts lies before first_token_ts"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("requests.jsonl:3: "), std::string::npos) << text;
  EXPECT_NE(text.find("the file may be cut off"), std::string::npos) << text;
}

TEST_F(ServedRunTest, TwoClocksWithoutQueuedStampsCannotBeAligned) {
  write("requests.csv",
        "input_toks,output_toks,arrival_time,first_token_ts,last_token_ts\n"
        "10,2,1760000000,5.25,5.5\n");
  EXPECT_NE(error().find("requests.csv:2: arrival_time and first_token_ts use different clocks"),
            std::string::npos)
      << error();
}

/// What `vllm bench serve --save-result --save-detailed` writes, in short.
std::string result_of(const std::string& settings) {
  return "{\"model_id\": \"Qwen/Qwen3-8B\", " + settings +
         "\"input_lens\": [10, 20, 30, 40], \"output_lens\": [3, 2, 0, 1],\n"
         "\"ttfts\": [0.5, 0.25, 0.0, 0.125], \"itls\": [[0.5, 1.0], [0.25], [], []],\n"
         "\"mean_tpot_ms\": NaN, \"generated_texts\": [\"NaN \\\" Infinity\", \"\", \"\", \"\"]}\n";
}

TEST_F(ServedRunTest, ReadsTheResultOfVllmsClient) {
  write("result.json", result_of("\"request_rate\": 4.0, \"start_times\": [100.0, 101.0, 102.0, "
                                 "103.0], "));
  const ServedRun run = load_served_run(folder);
  EXPECT_EQ(run.model, "Qwen/Qwen3-8B");
  EXPECT_EQ(run.failed, 1);
  EXPECT_FALSE(run.users);
  ASSERT_EQ(run.requests.size(), 3U);
  EXPECT_DOUBLE_EQ(run.requests[0].ttft().value(), 0.5);
  EXPECT_DOUBLE_EQ(run.requests[0].tpot().value(), 0.75);
  EXPECT_DOUBLE_EQ(run.requests[1].arrival.value(), 1.0);
  EXPECT_DOUBLE_EQ(run.requests[2].end_to_end().value(), 0.125);
  EXPECT_EQ(load_served_run(folder / "result.json").requests.size(), 3U) << "the file alone";
}

TEST_F(ServedRunTest, UsersSendWhenTheyAreAnswered) {
  // SGLang's client, on one line, without dates: two users. The first request ends at 2 s, the
  // second at 0.5 s, and its user sends the fourth.
  write("run.jsonl", result_of("\"request_rate\": Infinity, \"max_concurrency\": 2, "));
  const ServedRun run = load_served_run(folder);
  EXPECT_EQ(run.users, 2);
  ASSERT_EQ(run.requests.size(), 3U);
  EXPECT_DOUBLE_EQ(run.requests[2].arrival.value(), 0.5);
  EXPECT_DOUBLE_EQ(run.duration().value(), 2.0);
}

TEST_F(ServedRunTest, SaysWhatAResultLacks) {
  write("run.json", result_of("\"request_rate\": 4.0, "));
  EXPECT_NE(error().find("\"start_times\" is missing"), std::string::npos) << error();
  write("run.json", "{\"input_lens\": [1], \"output_lens\": [1]}");
  EXPECT_NE(error().find("--save-detailed"), std::string::npos) << error();
  write("run.json", "{\"input_lens\": [1]}\n{\"input_lens\": [1]}\n");
  EXPECT_NE(error().find("holds 2 runs"), std::string::npos) << error();
  write("run.json",
        "{\"input_lens\": [1, 2], \"output_lens\": [1], \"ttfts\": [1], \"itls\": [[]]}");
  EXPECT_NE(error().find("has 1 entries"), std::string::npos) << error();
  write("other.json", result_of(""));
  EXPECT_NE(error().find("holds 2 results"), std::string::npos) << error();
}

}  // namespace
}  // namespace foretoken
