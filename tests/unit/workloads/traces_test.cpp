// Trace readers: each format's lines, line ends and gzip, exact messages for what is malformed,
// and every line of the public traces where FORETOKEN_DATA has them.
#include <gmock/gmock.h>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Traces : public TemporaryFolder {
 protected:
  static std::shared_ptr<const Trace> load(const std::filesystem::path& path,
                                           std::string_view format = "", bool skip = false) {
    return load_trace(path, format, skip, trace_format_registry());
  }

  /// The messages, with the test's folder left out of them.
  std::string errors(const std::filesystem::path& path, std::string_view format = "",
                     bool skip = false) const {
    try {
      load(path, format, skip);
    } catch (const ConfigError& error) {
      std::string text = error.what();
      const std::string prefix = folder_.string() + "/";
      for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
        text.erase(at, prefix.size());
      }
      return text;
    }
    return "no error";
  }
};

constexpr std::string_view azure_text =
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 23:59:59.9999999,374,44\r\n"
    "2023-11-17 00:00:00.2500000,396,109";

TEST_F(Traces, AzureReadsDatesToTheirLastDigit) {
  const auto trace = load(write("a.csv", azure_text));
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->format(), "azure");
  EXPECT_EQ(trace->arrival(0).value(), 0.0);
  EXPECT_EQ(trace->arrival(1).value(), 0.2500001);  // over midnight
  EXPECT_EQ(trace->prompt_tokens(0), 374);
  EXPECT_EQ(trace->output_tokens(1), 109);
}

TEST_F(Traces, AzureReadsTheDatesOf2024) {
  const auto trace = load(write("a.csv",
                                "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                "2024-05-10 00:00:00+00:00,1,2\n"
                                "2024-05-10T02:30:01.5+02:30,3,4\n"
                                "2024-05-10 00:00:02Z,5,6\n"
                                "2024-05-09 23:00:03.25-01:00,7,8\n"));
  ASSERT_EQ(trace->size(), 4U);
  EXPECT_EQ(trace->arrival(1).value(), 1.5);
  EXPECT_EQ(trace->arrival(2).value(), 2.0);
  EXPECT_EQ(trace->arrival(3).value(), 3.25);
}

TEST_F(Traces, AzureSaysWhatIsWrongWithEachLine) {
  const auto path = write("a.csv",
                          "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                          "2023-11-16 18:15:46.6805900,374\n"
                          "2023-02-30 18:15:46.6805900,374,44\n"
                          "yesterday,374,44\n"
                          "2023-11-16 18:15:46.68 noon,374,44\n"
                          "2023-11-16 18:15:46.6805900,0,44\n"
                          "2023-11-16 18:15:46.6805900,374,-1\n"
                          "2023-11-16 18:15:46.6805900,374,many\n"
                          "2023-11-16 18:15:46.6805900,374,44\n");
  EXPECT_EQ(
      errors(path),
      "a.csv:2: expected 3 fields (TIMESTAMP,ContextTokens,GeneratedTokens), found 2\n"
      "a.csv:3: TIMESTAMP must be a date such as 2023-11-16 18:15:46.6805900, found '2023-02-30 "
      "18:15:46.6805900'\n"
      "a.csv:4: TIMESTAMP must be a date such as 2023-11-16 18:15:46.6805900, found 'yesterday'\n"
      "a.csv:5: TIMESTAMP must be a date such as 2023-11-16 18:15:46.6805900, found '2023-11-16 "
      "18:15:46.68 noon'\n"
      "a.csv:6: ContextTokens must be from 1 to 2147483647, found 0\n"
      "a.csv:7: GeneratedTokens must be from 1 to 2147483647, found -1\n"
      "a.csv:8: GeneratedTokens must be a number of tokens, found 'many'\n"
      "a.csv: 7 malformed lines: fix them, or skip them with --skip-bad-lines");
}

TEST_F(Traces, MooncakeReadsMillisecondsAndPrefixHashes) {
  const auto trace = load(write(
      "m.jsonl",
      "{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 5, \"hash_ids\": [7, 8]}\n"
      "{\"timestamp\": 27482, \"input_length\": 1025, \"output_length\": 6, \"hash_ids\": [7, 8, "
      "9]}\n"
      "{\"timestamp\": 30000.5, \"input_length\": 10, \"output_length\": 7}\n"));
  ASSERT_EQ(trace->size(), 3U);
  EXPECT_EQ(trace->format(), "mooncake");
  EXPECT_EQ(trace->arrival(1).value(), 27.482);
  EXPECT_EQ(trace->arrival(2).value(), 30.0005);
  EXPECT_EQ(trace->prompt_tokens(1), 1025);
  EXPECT_EQ(trace->output_tokens(1), 6);
  EXPECT_THAT(trace->prefix_hashes(0), ElementsAre(7, 8));
  EXPECT_THAT(trace->prefix_hashes(1), ElementsAre(7, 8, 9));
  EXPECT_THAT(trace->prefix_hashes(2), IsEmpty());
}

TEST_F(Traces, MooncakeSaysWhatIsWrongWithEachLine) {
  const auto path = write(
      "m.jsonl",
      "{\"timestamp\": 0, \"input_length\": 1025, \"output_length\": 5, \"hash_ids\": [7, 8]}\n"
      "{\"timestamp\": \"0\", \"input_length\": 10, \"output_length\": 5}\n"
      "{\"timestamp\": 0, \"input_length\": 10.5, \"output_length\": 5}\n"
      "{\"timestamp\": 0, \"input_length\": 10}\n"
      "[1, 2]\n"
      "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": [\"x\"]}\n"
      "{\"timestamp\": 1e300, \"input_length\": 10, \"output_length\": 5}\n"
      "{\"timestamp\": 0, \"input_len");
  EXPECT_EQ(errors(path),
            "m.jsonl:1: expected 3 hash_ids for 1025 tokens in blocks of 512, found 2\n"
            "m.jsonl:2: timestamp must be a number, found a string\n"
            "m.jsonl:3: input_length must be a whole number of tokens, found 10.5\n"
            "m.jsonl:4: lacks \"output_length\"\n"
            "m.jsonl:5: expected {...}, found an array\n"
            "m.jsonl:6: hash_ids must be an array of integers below 2^63\n"
            "m.jsonl:7: timestamp must be within 4e+09 s of 0, found 1e+300\n"
            "m.jsonl:8: is not valid JSON (cut off, or a quote, comma or bracket is missing); this "
            "last line is not terminated, so the file may be cut off\n"
            "m.jsonl: 8 malformed lines: fix them, or skip them with --skip-bad-lines");
}

TEST_F(Traces, CsvTakesItsColumnsFromTheHeader) {
  const auto trace = load(write("c.csv",
                                "user, output_tokens, arrival_s, prompt_tokens\n"
                                "ann, 4, 10.5, 300\n"
                                "bob, 5, 11, 400\n"));
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->format(), "csv");
  EXPECT_TRUE(trace->has_arrivals());
  EXPECT_EQ(trace->arrival(0).value(), 0.0);  // times count from the earliest request
  EXPECT_EQ(trace->arrival(1).value(), 0.5);
  EXPECT_EQ(trace->prompt_tokens(0), 300);
  EXPECT_EQ(trace->output_tokens(0), 4);
}

TEST_F(Traces, CsvKnowsSplitwisesSpelling) {
  const auto trace = load(write(
      "c.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109"));
  EXPECT_EQ(trace->format(), "csv");
  EXPECT_EQ(trace->arrival(1).value(), 4.314579);
  EXPECT_EQ(trace->prompt_tokens(1), 396);
  EXPECT_EQ(trace->output_tokens(1), 109);
}

/// Arrival of the second row and both lengths of the first.
std::string second_arrival(const Trace& trace) {
  return fmt::format("{} {} {}", trace.arrival(1).value(), trace.prompt_tokens(0),
                     trace.output_tokens(0));
}

TEST_F(Traces, CsvKnowsTheNamesOfServersToolsAndPublishedTraces) {
  for (const char* header :
       {"timestamp,prompt_tokens,output_tokens", "TIMESTAMP,ContextTokens,GeneratedTokens",
        "Timestamp,Request tokens,Response tokens", "time,input_len,output_len", "arrival,isl,osl",
        "arrivalTime,promptTokens,completionTokens", "start_time,prompt_tokens,completion_tokens",
        "arrival_timestamp,input_length,output_length",
        "created_at,num_prompt_tokens,num_generated_tokens", "ts,input_tokens,output_tokens"}) {
    const auto path = write("c.csv", fmt::format("{}\n10.5,300,4\n11.25,400.0,5\n", header));
    EXPECT_EQ(second_arrival(*load(path, "csv")), "0.75 300 4") << header;
  }
}

TEST_F(Traces, CsvReadsTheUnitOfArrivalsFromNamesAndSizes) {
  const auto arrival = [&](const char* name, const char* first, const char* second) {
    return load(write("c.csv", fmt::format("{},prompt_tokens,output_tokens\n{},3,4\n{},3,4\n", name,
                                           first, second)))
        ->arrival(1)
        .value();
  };
  EXPECT_EQ(arrival("timestamp", "1", "3"), 2.0);
  EXPECT_EQ(arrival("timestamp_ms", "1", "3"), 0.002);
  EXPECT_EQ(arrival("arrival_us", "1", "3"), 2e-6);
  EXPECT_EQ(arrival("Arrival (seconds)", "1", "3"), 2.0);
  EXPECT_EQ(arrival("timestamp", "1700000000", "1700000003"), 3.0);
  EXPECT_EQ(arrival("timestamp", "1700000000000", "1700000000500"), 0.5);
  EXPECT_EQ(arrival("timestamp", "1700000000000000", "1700000000500000"), 0.5);
  EXPECT_EQ(arrival("timestamp", "2024-05-10T00:00:00Z", "2024-05-10T00:00:01.5Z"), 1.5);
  EXPECT_EQ(arrival("date", "2024-05-10 00:00:00", "2024-05-10 00:01:00"), 60.0);
}

TEST_F(Traces, CsvSaysWhichDateIsNone) {
  EXPECT_THAT(errors(write("c.csv", "time,prompt_tokens,output_tokens\n2024-05-32 00:00:00,3,4\n")),
              ::testing::StartsWith("c.csv:2: time must be a date such as 2023-11-16 "
                                    "18:15:46.6805900, found '2024-05-32 00:00:00'\n"));
}

TEST_F(Traces, CsvSaysWhichColumnItMissesAndWhatItFound) {
  EXPECT_EQ(
      errors(write("c.csv", "timestamp,prompt_tokens,reply\n1,2,3\n")),
      "c.csv:1: no column is called output_tokens or similar; found: timestamp, prompt_tokens, "
      "reply. Expected a header such as arrival_s,prompt_tokens,output_tokens");
}

TEST_F(Traces, CsvWithoutArrivalsHasLengthsOnly) {
  EXPECT_FALSE(
      load(write("c.csv", "num_prefill_tokens,num_decode_tokens\n374,44\n"))->has_arrivals());
}

TEST_F(Traces, CsvSaysWhatIsWrongWithEachLine) {
  const auto path = write("c.csv",
                          "arrival_s,prompt_tokens,output_tokens\n"
                          "soon,3,4\n"
                          "1,3,4,5\n"
                          "nan,3,4\n"
                          "1,3000000000,4\n"
                          "1,3,4\n");
  EXPECT_EQ(errors(path),
            "c.csv:2: arrival_s must be a number, found 'soon'\n"
            "c.csv:3: expected 3 fields as in the header, found 4\n"
            "c.csv:4: arrival_s must be within 4e+09 s of 0, found nan\n"
            "c.csv:5: prompt_tokens must be from 1 to 2147483647, found 3000000000\n"
            "c.csv: 4 malformed lines: fix them, or skip them with --skip-bad-lines");
}

TEST_F(Traces, JsonlReadsArrivalsLengthsAndPrefixes) {
  const auto trace = load(write(
      "j.jsonl",
      "{\"arrival_s\": 0.5, \"prompt_tokens\": 30, \"output_tokens\": 4, \"prefix_hashes\": [1]}\n"
      "{\"arrival_s\": 2, \"prompt_tokens\": 31, \"output_tokens\": 5, \"user\": \"x\"}\n"));
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->format(), "jsonl");
  EXPECT_EQ(trace->arrival(1).value(), 1.5);
  EXPECT_EQ(trace->prompt_tokens(0), 30);
  EXPECT_EQ(trace->output_tokens(1), 5);
  EXPECT_THAT(trace->prefix_hashes(0), ElementsAre(1));
}

TEST_F(Traces, RowsAreSortedByTimeAndEqualTimesKeepTheirOrder) {
  const auto trace = load(write("c.csv",
                                "arrival_s,prompt_tokens,output_tokens\n"
                                "7,1,1\n5,2,1\n7,3,1\n5,4,1\n"));
  std::vector<int> order;
  for (std::size_t row = 0; row < trace->size(); ++row) order.push_back(trace->prompt_tokens(row));
  EXPECT_THAT(order, ElementsAre(2, 4, 1, 3));
  EXPECT_EQ(trace->arrival(3).value(), 2.0);
}

TEST_F(Traces, BlankLinesAndAByteOrderMarkAreIgnored) {
  const auto trace = load(write("c.csv",
                                "\xEF\xBB\xBF\n"
                                "arrival_s,prompt_tokens,output_tokens\n\n0,1,1\n  \r\n1,2,2\n\n"));
  EXPECT_EQ(trace->size(), 2U);
}

TEST_F(Traces, GzipIsReadWhateverTheFileIsCalled) {
  const auto trace = load(write_gzip("a.csv", azure_text));
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->arrival(1).value(), 0.2500001);
}

TEST_F(Traces, LinesThatSpanReadingPiecesAreWhole) {
  // 60,000 lines are 1.1 MB, several of the pieces that a file is read in.
  std::string text = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 60000; ++i) text += fmt::format("{}.5,{},{}\n", i, 1000 + i, 7);
  const auto trace = load(write_gzip("c.csv.gz", text));
  ASSERT_EQ(trace->size(), 60000U);
  for (int i = 0; i < 60000; ++i) {
    ASSERT_EQ(trace->prompt_tokens(static_cast<std::size_t>(i)), 1000 + i);
  }
}

// 0.9 MB of gzip can hold 200 million requests.
TEST_F(Traces, WhatUnpacksToMoreThanATraceMayHoldIsAnError) {
  std::string text = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 1000; ++i) text += "1,1,1\n";
  const auto path = write_gzip("c.csv.gz", text);
  const auto error_with = [&](const TraceLimits& limits) -> std::string {
    try {
      load_trace(path, "", false, trace_format_registry(), limits);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_with({.rows = 1000}), "no error");
  EXPECT_THAT(error_with({.rows = 999, .hashes = 7}),
              testing::EndsWith("c.csv.gz:1001: a trace may hold 999 requests and 7 prefix hashes, "
                                "but this one has more; split the file, as with head -n 1000"));
  const auto hashed = write(
      "m.jsonl", R"({"timestamp":0,"input_length":1500,"output_length":1,"hash_ids":[1,2,3]})");
  EXPECT_THROW(load_trace(hashed, "", false, trace_format_registry(), {.hashes = 2}), ConfigError);
  EXPECT_NO_THROW(load_trace(hashed, "", false, trace_format_registry(), {.hashes = 3}));
}

TEST_F(Traces, ACutOffGzipIsAnError) {
  std::string text = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 2000; ++i) text += fmt::format("{},{},{}\n", i, 1 + i * 7919 % 5000, 7);
  const auto path = write_gzip("c.csv.gz", text);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_EQ(errors(path),
            "c.csv.gz: the gzip data ends early: the file was cut off; copy it again");
  EXPECT_EQ(errors(path, "", true),
            "c.csv.gz: the gzip data ends early: the file was cut off; copy it again");
}

TEST_F(Traces, ServedReadsWhatARecordedRunWasAsked) {
  const auto path = write("r.jsonl",
                          "{\"input_toks\":30,\"output_toks\":4,\"arrival_time\":1787267980.5,"
                          "\"first_token_ts\":7}\n"
                          "{\"input_toks\":20,\"output_toks\":3,\"arrival_time\":1787267980.25}\n");
  const auto trace = load_trace(path, "", false, trace_format_registry());
  EXPECT_EQ(trace->format(), "served");
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->prompt_tokens(0), 20);
  EXPECT_NEAR(trace->arrival(1).value(), 0.25, 1e-6);
  EXPECT_EQ(trace->output_tokens(1), 4);
}

TEST_F(Traces, DamagedGzipIsAnError) {
  const auto path = write_gzip("c.csv.gz", azure_text);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(-6, std::ios::end);  // within the checksum
  file.put('!');
  file.close();
  EXPECT_EQ(errors(path), "c.csv.gz: the gzip data is damaged; copy the file again");
}

TEST_F(Traces, AnEmptyTraceIsAnError) {
  EXPECT_EQ(errors(write("c.csv", "")), "c.csv: the trace is empty; it needs at least one request");
  EXPECT_EQ(errors(write("c.csv", "\n \n")),
            "c.csv: the trace is empty; it needs at least one request");
  EXPECT_EQ(errors(write("c.csv", "arrival_s,prompt_tokens,output_tokens\n")),
            "c.csv: the trace is empty; it needs at least one request");
}

TEST_F(Traces, AMissingFileAndAFolderAreErrors) {
  EXPECT_EQ(errors(folder_ / "none.csv"),
            "none.csv: cannot open this file (No such file or directory); check the path");
  std::filesystem::create_directory(folder_ / "sub");
  EXPECT_EQ(errors(folder_ / "sub"), "sub: is a folder, not a file; check the path");
}

TEST_F(Traces, AnUnknownFirstLineListsTheFormats) {
  EXPECT_EQ(errors(write("x.csv", "a,b\n1,2\n")),
            "x.csv:1: the first line matches no known trace format: 'a,b'. Known (see foretoken "
            "list): azure, agentic_mooncake, bailian, mooncake, weka, burstgpt, vllm_bench, "
            "sglang_bench, guidellm, aiperf, aiperf_inputs, openai_batch, litellm, sharegpt, "
            "conversations, csv, jsonl, served");
}

TEST_F(Traces, ANamedFormatInsistsOnItsHeader) {
  const auto path = write("x.csv", "a,b\n1,2\n");
  EXPECT_EQ(errors(path, "azure"),
            "x.csv:1: expected the header TIMESTAMP,ContextTokens,GeneratedTokens");
  EXPECT_EQ(errors(path, "csv"),
            "x.csv:1: no column is called prompt_tokens or similar; found: a, b. Expected a header "
            "such as arrival_s,prompt_tokens,output_tokens");
}

TEST_F(Traces, AHugeLineIsNoText) {
  EXPECT_EQ(errors(write_gzip("x.gz", std::string(5'000'000, 'a')), "jsonl"),
            "x.gz:1: is longer than 4194304 bytes; is this a text file?");
}

TEST_F(Traces, TwentyBadLinesAreListedAndTheRestCounted) {
  std::string text = "arrival_s,prompt_tokens,output_tokens\n0,1,1\n";
  for (int i = 0; i < 25; ++i) text += "bad\n";
  const auto path = write("c.csv", text);
  try {
    load(path);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.diagnostics().size(), 21U);
    EXPECT_EQ(error.diagnostics()[19].position.line, 22);
    EXPECT_EQ(error.diagnostics()[20].message,
              "and 5 more; 25 malformed lines: fix them, or skip them with --skip-bad-lines");
  }
}

TEST_F(Traces, SkippedLinesAreCounted) {
  const auto trace =
      load(write("c.csv", "arrival_s,prompt_tokens,output_tokens\nbad\n3,1,1\nworse\n4,2,2\n1,2"),
           "", true);
  EXPECT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->skipped_lines(), 3);
}

TEST_F(Traces, NothingLeftAfterSkippingIsAnError) {
  EXPECT_EQ(errors(write("c.csv", "arrival_s,prompt_tokens,output_tokens\nbad\nworse\n"), "", true),
            "c.csv: no request is left: all 2 lines are malformed");
}

struct PublicTrace {
  std::string file;
  std::string format;
  std::size_t rows;
  bool has_arrivals;
  double last_arrival_s;
};

class PublicTraces : public ::testing::TestWithParam<PublicTrace> {};

TEST_P(PublicTraces, EveryLineParses) {
  const auto path = third_party("traces/" + GetParam().file);
  if (path.empty()) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const auto trace = load_trace(path, "", false, trace_format_registry());
  EXPECT_EQ(trace->format(), GetParam().format);
  EXPECT_EQ(trace->size(), GetParam().rows);
  EXPECT_EQ(trace->has_arrivals(), GetParam().has_arrivals);
  EXPECT_NEAR(trace->span().value(), GetParam().last_arrival_s, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(
    All, PublicTraces,
    ::testing::Values(
        PublicTrace{"AzureLLMInferenceTrace_conv.csv.gz", "azure", 19366, true, 3501.721937},
        PublicTrace{"AzureLLMInferenceTrace_code.csv.gz", "azure", 8819, true, 3435.948056},
        PublicTrace{"mooncake_conversation.jsonl.gz", "mooncake", 12031, true, 3536.999},
        PublicTrace{"vidur_splitwise_conv.csv.gz", "csv", 19366, true, 3501.721937},
        PublicTrace{"vidur_splitwise_code.csv.gz", "csv", 8819, true, 3435.948056},
        PublicTrace{"vidur_arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv.gz", "csv",
                    28257, false, 0.0}),
    [](const auto& test) { return test.param.file.substr(0, test.param.file.find('.')); });

}  // namespace
}  // namespace foretoken
