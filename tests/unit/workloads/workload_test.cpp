// The [workload] table: what combines with what, exact messages with their places, and that the
// resolved table reads back to the same requests.
#include <gmock/gmock.h>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::workload_test {
namespace {

using ::testing::ElementsAre;

constexpr const char* poisson = "arrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 4\n";
constexpr const char* lengths = "prompt_tokens = 10\noutput_tokens = 2\n";

std::string errors(const std::string& text) {
  const ReadWorkload result = read(text);
  EXPECT_EQ(result.workload == nullptr, !result.errors.empty());
  return result.errors;
}

std::string arrival_errors(const std::string& text) { return errors(text + "\n" + lengths); }

std::string prompt_errors(const std::string& distribution) {
  return errors(std::string(poisson) + "output_tokens = 2\nprompt_tokens = " + distribution);
}

TEST(WorkloadErrors, Rate) {
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrequests = 4\nrate = \"-4 /s\""),
            "s.toml:4:1: workload.rate: must be above 0, for example \"4 /s\"");
  EXPECT_EQ(arrival_errors("arrivals = \"gamma\"\nburstiness = 1\nrequests = 4\nrate = \"0 /s\""),
            "s.toml:5:1: workload.rate: must be above 0, for example \"4 /s\"");
  EXPECT_EQ(arrival_errors("arrivals = \"interval\"\nrequests = 4\nrate = 4"),
            "s.toml:4:1: workload.rate: must be a quantity in quotes, for example \"4 /s\", not 4");
  EXPECT_EQ(
      arrival_errors("arrivals = \"poisson\"\nrequests = 4\nrate = \"4\""),
      "s.toml:4:1: workload.rate: '4' has no unit; write for example \"4 /s\" (/s, /min, /h)");
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrequests = 4\nrate = \"1e-300 /s\""),
            "s.toml:4:1: workload.rate: must be from 1e-9 to 1e9 a second");
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrequests = 4"),
            "s.toml:1:2: [workload] lacks 'rate'");
}

TEST(WorkloadErrors, Arrivals) {
  EXPECT_EQ(arrival_errors("arrivals = \"poison\"\nrate = \"4 /s\"\nrequests = 4"),
            "s.toml:2:1: unknown arrival process 'poison'; did you mean 'poisson'? Known: poisson, "
            "gamma, interval, profile, closed_loop, all_at_once, trace");
  EXPECT_EQ(arrival_errors("requests = 4"), "s.toml:1:2: [workload] lacks 'arrivals'");
  EXPECT_EQ(arrival_errors("arrivals = \"gamma\"\nrate = \"4 /s\"\nrequests = 4\nburstiness = 0"),
            "s.toml:5:1: workload.burstiness: must be from 0.001 to 1000000; 1 is Poisson, 0.25 is "
            "bursty (the intervals' squared coefficient of variation is 1/burstiness)");
  EXPECT_EQ(arrival_errors("arrivals = \"closed_loop\"\nrequests = 4"),
            "s.toml:1:2: [workload] lacks 'users'");
  EXPECT_EQ(arrival_errors("arrivals = \"closed_loop\"\nusers = 0\nrequests = 4"),
            "s.toml:3:1: workload.users: must be from 1 to 10000000");
  EXPECT_EQ(
      arrival_errors("arrivals = \"closed_loop\"\nusers = 1\nthink_time = \"-1 s\"\nrequests = 4"),
      "s.toml:4:1: workload.think_time: must not be negative");
  EXPECT_EQ(arrival_errors("arrivals = \"trace\""),
            "s.toml:1:2: workload.trace: is missing; arrivals = \"trace\" needs trace = \"path\"");
}

TEST(WorkloadErrors, KeysOfAnotherArrivalProcess) {
  EXPECT_EQ(
      arrival_errors("arrivals = \"closed_loop\"\nusers = 4\nrate = \"4 /s\"\nrequests = 4\n"
                     "burstiness = 2"),
      "s.toml:4:1: workload.rate: has no effect with arrivals = \"closed_loop\"; remove it\n"
      "s.toml:6:1: workload.burstiness: has no effect with arrivals = \"closed_loop\"; remove it");
  EXPECT_EQ(arrival_errors("arrivals = \"closed_loop\"\nusers = 4\nrequests = 4\n"
                           "rate_scale = 2.0"),
            "s.toml:5:1: workload.rate_scale: has no effect with a closed loop, whose users set "
            "the pace; remove it");
}

TEST(WorkloadErrors, Limits) {
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrate = \"4 /s\""),
            "s.toml:1:2: workload.requests: is missing; this traffic never ends. Give requests = "
            "400 or duration = \"60 s\"");
  EXPECT_EQ(arrival_errors("arrivals = \"closed_loop\"\nusers = 4"),
            "s.toml:1:2: workload.requests: is missing; this traffic never ends. Give requests = "
            "400 or duration = \"60 s\"");
  EXPECT_EQ(arrival_errors("arrivals = \"all_at_once\"\nduration = \"1 s\""),
            "s.toml:1:2: workload.requests: is missing; arrivals = \"all_at_once\" needs it");
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 0"),
            "s.toml:4:1: workload.requests: must be at least 1");
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 5000000000"),
            "s.toml:4:1: workload.requests: must be at most 4294967295");
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrate = \"4 /s\"\nduration = \"0 s\""),
            "s.toml:4:1: workload.duration: must be longer than 0 s");
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrate = \"4 /s\"\nduration = \"1e300 h\""),
            "s.toml:4:1: workload.duration: must be at most 1e10 s (300 years)");
  EXPECT_EQ(arrival_errors("arrivals = \"poisson\"\nrate = \"4 /s\"\nduration = \"60\""),
            "s.toml:4:1: workload.duration: '60' has no unit; write for example \"500 ms\" (s, ms, "
            "us, ns, min, h)");
}

TEST(WorkloadErrors, Lengths) {
  EXPECT_EQ(errors(std::string(poisson) + "output_tokens = 2"),
            "s.toml:1:2: workload.prompt_tokens: is missing; write a number, or for "
            "example { distribution = \"lognormal\", mean = 1000, p99 = 4000 }");
  EXPECT_EQ(prompt_errors("0"), "s.toml:6:1: workload.prompt_tokens: must be at least 1");
  EXPECT_EQ(prompt_errors("9.5"),
            "s.toml:6:1: workload.prompt_tokens: is a number; write a number, or for "
            "example { distribution = \"lognormal\", mean = 1000, p99 = 4000 }");
  EXPECT_EQ(prompt_errors("3000000000"),
            "s.toml:6:1: workload.prompt_tokens: must be an integer up to 2147483647, not "
            "3000000000");
  EXPECT_EQ(prompt_errors("{ mean = 10 }"),
            "s.toml:6:1: [workload.prompt_tokens] lacks 'distribution'");
  EXPECT_EQ(prompt_errors("{ distribution = \"log-normal\" }"),
            "s.toml:6:19: unknown length distribution 'log-normal'; did you mean 'lognormal'? "
            "Known: fixed, uniform, lognormal, zipf, histogram, trace");
  EXPECT_EQ(prompt_errors("{ distribution = \"fixed\", value = 0 }"),
            "s.toml:6:43: workload.prompt_tokens.value: must be at least 1");
  EXPECT_EQ(prompt_errors("{ distribution = \"uniform\", min = 9, max = 5 }"),
            "s.toml:6:54: workload.prompt_tokens.max: is 5, below min = 9; swap them");
  EXPECT_EQ(prompt_errors("{ distribution = \"uniform\", min = 9, max = 10, mean = 4 }"),
            "s.toml:6:64: unknown key 'mean' in [workload.prompt_tokens]; did you mean 'min'?");
  EXPECT_EQ(prompt_errors("{ distribution = \"trace\" }"),
            "s.toml:6:19: workload.prompt_tokens.distribution: \"trace\" needs trace = \"path\" in "
            "[workload]");
  EXPECT_EQ(prompt_errors("{ distribution = \"zipf\", min = 1, max = 2000000, exponent = -1 }"),
            "s.toml:6:51: workload.prompt_tokens.max: spans more than 1000000 lengths from min = "
            "1\n"
            "s.toml:6:66: workload.prompt_tokens.exponent: must be from 0 (uniform) to 100");
}

TEST(WorkloadErrors, Lognormal) {
  EXPECT_EQ(prompt_errors("{ distribution = \"lognormal\", mean = 0.5, p99 = 4 }"),
            "s.toml:6:47: workload.prompt_tokens.mean: must be from 1 to 1e9 tokens");
  EXPECT_EQ(prompt_errors("{ distribution = \"lognormal\", mean = 100, p99 = 50 }"),
            "s.toml:6:59: workload.prompt_tokens.p99: is 50, below the mean of 100; a lognormal's "
            "99th percentile lies above its mean");
  EXPECT_EQ(prompt_errors("{ distribution = \"lognormal\", mean = 100, p99 = 1600 }"),
            "s.toml:6:59: workload.prompt_tokens.p99: is 16.0 times the mean; a lognormal's 99th "
            "percentile is at most 14.97 times its mean, 1497 here. Lower p99, or give median and "
            "sigma");
  EXPECT_EQ(prompt_errors("{ distribution = \"lognormal\", mean = 100, sigma = 1 }"),
            "s.toml:6:19: workload.prompt_tokens.distribution: \"lognormal\" takes mean and p99, "
            "or median and sigma");
  EXPECT_EQ(prompt_errors("{ distribution = \"lognormal\", mean = 100 }"),
            "s.toml:6:1: [workload.prompt_tokens] lacks 'p99'");
  EXPECT_EQ(prompt_errors("{ distribution = \"lognormal\", median = 1e10, sigma = 11 }"),
            "s.toml:6:47: workload.prompt_tokens.median: must be from 1 to 1e9 tokens\n"
            "s.toml:6:62: workload.prompt_tokens.sigma: must be from 0 (every length equal) to 10");
  EXPECT_EQ(
      prompt_errors("{ distribution = \"lognormal\", median = 9, sigma = 1, min = 9, max = 5 }"),
      "s.toml:6:79: workload.prompt_tokens.max: is 5, below min = 9; swap them");
}

TEST(WorkloadErrors, TimeTransforms) {
  const auto transform_errors = [](const std::string& text) {
    return errors(std::string(poisson) + lengths + text);
  };
  EXPECT_EQ(transform_errors("rate_scale = 0"),
            "s.toml:7:1: workload.rate_scale: must be from 1e-6 to 1e6; 2.0 doubles the rate");
  EXPECT_EQ(transform_errors("window = [\"1 min\"]"),
            "s.toml:7:1: workload.window: must have two times, for example [\"10 min\", \"20 "
            "min\"]");
  EXPECT_EQ(transform_errors("window = [\"2 min\", \"60 s\"]"),
            "s.toml:7:1: workload.window: ends at 60 s and begins at 2 min; the end must come "
            "later");
  EXPECT_EQ(transform_errors("window = [\"2 min\", \"3\"]"),
            "s.toml:7:1: workload.window: '3' has no unit; write for example \"500 ms\" (s, ms, "
            "us, ns, min, h)");
  EXPECT_EQ(transform_errors("diurnal = { amplitude = 1.5, period = \"0 s\", top = 1 }"),
            "s.toml:7:13: workload.diurnal.amplitude: must be from 0 (none) to 1 (no requests at "
            "the trough)\n"
            "s.toml:7:30: workload.diurnal.period: must be longer than 0 s\n"
            "s.toml:7:46: unknown key 'top' in [workload.diurnal]. Known: period, amplitude, peak");
}

TEST(WorkloadErrors, AnUnknownKeyNamesTheNearest) {
  EXPECT_EQ(errors(std::string(poisson) + lengths + "trase_format = \"azure\""),
            "s.toml:7:1: unknown key 'trase_format' in [workload]; did you mean 'trace_format'?");
  EXPECT_EQ(errors(std::string(poisson) + lengths + "trace_format = \"azure\""),
            "s.toml:7:1: workload.trace_format: has no effect without trace = \"path\"");
}

TEST(WorkloadErrors, AllOfATableTogether) {
  EXPECT_EQ(errors("arrivals = \"poisson\"\nrate = \"-1 /s\"\nrequests = 0\nprompt_tokens = 0\n"
                   "output_tokens = 2\nrate_scale = 0"),
            "s.toml:3:1: workload.rate: must be above 0, for example \"4 /s\"\n"
            "s.toml:4:1: workload.requests: must be at least 1\n"
            "s.toml:5:1: workload.prompt_tokens: must be at least 1\n"
            "s.toml:7:1: workload.rate_scale: must be from 1e-6 to 1e6; 2.0 doubles the rate");
}

class WorkloadTraces : public TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    write("t.jsonl",
          "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 1, \"hash_ids\": [5]}\n"
          "{\"timestamp\": 2000, \"input_length\": 20, \"output_length\": 2, \"hash_ids\": [6]}\n"
          "{\"timestamp\": 9000, \"input_length\": 30, \"output_length\": 3}\n");
    write("lengths.csv", "prompt_tokens,output_tokens\n10,1\n20,2\n");
  }
  [[nodiscard]] WorkloadOptions options() const { return {.base_folder = folder_}; }
  [[nodiscard]] std::string trace_errors(const std::string& text) const {
    return read(text, options()).errors;
  }
};

TEST_F(WorkloadTraces, ATraceAloneGivesTimesLengthsAndPrefixes) {
  const auto all = requests("trace = \"t.jsonl\"", options());
  EXPECT_THAT(arrivals(all), ElementsAre(0.0, 2.0, 9.0));
  EXPECT_THAT(prompts(all), ElementsAre(10, 20, 30));
  EXPECT_THAT(outputs(all), ElementsAre(1, 2, 3));
  EXPECT_THAT(all[1].prefix_hashes, ElementsAre(6));
  EXPECT_TRUE(all[2].prefix_hashes.empty());
}

TEST_F(WorkloadTraces, RequestsAndDurationLimitATrace) {
  EXPECT_EQ(requests("trace = \"t.jsonl\"\nrequests = 2", options()).size(), 2U);
  EXPECT_EQ(requests("trace = \"t.jsonl\"\nrequests = 50", options()).size(), 3U);
  EXPECT_EQ(requests("trace = \"t.jsonl\"\nduration = \"9 s\"", options()).size(), 2U);
  const auto result = read("trace = \"t.jsonl\"\nrequests = 50", options());
  EXPECT_EQ(result.workload->start(RandomStreams(1))->expected(), 3);
}

TEST_F(WorkloadTraces, LengthsOfATraceUnderGeneratedArrivalsBeginAgainAtItsEnd) {
  const auto all = requests(
      "trace = \"t.jsonl\"\narrivals = \"interval\"\nrate = \"1 /s\"\nrequests = 5\n"
      "prompt_tokens = { distribution = \"trace\" }\noutput_tokens = { distribution = \"trace\" }",
      options());
  EXPECT_THAT(arrivals(all), ElementsAre(0.0, 1.0, 2.0, 3.0, 4.0));
  EXPECT_THAT(prompts(all), ElementsAre(10, 20, 30, 10, 20));
  EXPECT_THAT(outputs(all), ElementsAre(1, 2, 3, 1, 2));
  EXPECT_THAT(all[3].prefix_hashes, ElementsAre(5));
}

TEST_F(WorkloadTraces, GeneratedLengthsUnderRecordedArrivalsShareNoPrefix) {
  const auto all = requests("trace = \"t.jsonl\"\nprompt_tokens = 7", options());
  EXPECT_THAT(arrivals(all), ElementsAre(0.0, 2.0, 9.0));
  EXPECT_THAT(prompts(all), ElementsAre(7, 7, 7));
  EXPECT_THAT(outputs(all), ElementsAre(1, 2, 3));
  EXPECT_TRUE(all[0].prefix_hashes.empty());
}

TEST_F(WorkloadTraces, ALengthsOnlyTraceNeedsOtherArrivals) {
  EXPECT_EQ(trace_errors("trace = \"lengths.csv\""),
            "s.toml:2:1: workload.trace: has lengths but no arrival times (columns: prompt_tokens, "
            "output_tokens); call their column arrival_s, or choose other arrivals, for example "
            "\"poisson\"");
  EXPECT_THAT(prompts(requests("trace = \"lengths.csv\"\narrivals = \"all_at_once\"\nrequests = 3",
                               options())),
              ElementsAre(10, 20, 10));
}

TEST_F(WorkloadTraces, ATraceThatNothingUsesIsAMistake) {
  EXPECT_EQ(trace_errors("trace = \"t.jsonl\"\n" + std::string(poisson) + lengths),
            "s.toml:2:1: workload.trace: is not used: arrivals and lengths are generated. Remove "
            "it, or set arrivals = \"trace\"");
}

TEST_F(WorkloadTraces, AWindowBeyondTheTraceIsAMistake) {
  EXPECT_EQ(trace_errors("trace = \"t.jsonl\"\nwindow = [\"10 s\", \"20 s\"]"),
            "s.toml:3:1: workload.window: leaves no request; the trace spans 0 s to 9 s");
}

TEST_F(WorkloadTraces, AnUnreadableTraceIsReportedWithTheTablesOtherMistakes) {
  EXPECT_EQ(trace_errors("trace = \"none.csv\"\nrate_scale = 0"),
            "s.toml:2:1: workload.trace: " + (folder_ / "none.csv").string() +
                ": cannot open this file (No such file or directory); check the path\n"
                "s.toml:3:1: workload.rate_scale: must be from 1e-6 to 1e6; 2.0 doubles the rate");
  EXPECT_EQ(trace_errors("trace = \"t.jsonl\"\ntrace_format = \"moon\""),
            "s.toml:3:1: unknown trace format 'moon'; did you mean 'mooncake'? Known: azure, "
            "agentic_mooncake, bailian, mooncake, weka, burstgpt, vllm_bench, sglang_bench, "
            "guidellm, aiperf, aiperf_inputs, openai_batch, litellm, sharegpt, conversations, csv, "
            "jsonl, served");
}

TEST_F(WorkloadTraces, LinesAreReportedWhereTheyStandAndTheFileWhereItIsNamed) {
  const std::string bad =
      write("bad.csv", "arrival_s,prompt_tokens,output_tokens\n0,1,0\n").string();
  EXPECT_EQ(trace_errors("trace = \"bad.csv\""),
            bad + ":2: output_tokens must be from 1 to 2147483647, found 0\n" +
                "s.toml:2:1: workload.trace: " + bad +
                ": 1 malformed line: fix it, or skip it with --skip-bad-lines");
  const std::string empty = write("empty.csv", "").string();
  EXPECT_EQ(trace_errors("trace = \"empty.csv\""),
            "s.toml:2:1: workload.trace: " + empty +
                ": the trace is empty; it needs at least one request");
}

TEST_F(WorkloadTraces, SkippedLinesAreCountedAndWrittenBack) {
  write("bad.csv", "arrival_s,prompt_tokens,output_tokens\n0,1,1\nbad\n");
  WorkloadOptions skipping = options();
  skipping.skip_bad_lines = true;
  const auto result = read("trace = \"bad.csv\"", skipping);
  ASSERT_EQ(result.errors, "");
  EXPECT_EQ(result.workload->start(RandomStreams(1))->skipped_lines(), 1);
  EXPECT_TRUE(std::get<bool>(result.workload->resolved().find("skip_bad_lines")->data));
  EXPECT_EQ(requests("trace = \"bad.csv\"\nskip_bad_lines = true", options()).size(), 1U);
}

TEST_F(WorkloadTraces, ASourceMayOutliveItsWorkload) {
  auto result = read("trace = \"t.jsonl\"", options());
  const auto source = result.workload->start(RandomStreams(1));
  result.workload.reset();
  EXPECT_EQ(source->next()->prompt_tokens, 10);
}

TEST_F(WorkloadTraces, TheResolvedTableReadsBackToTheSameRequests) {
  const std::vector<std::string> tables = {
      std::string(poisson) + lengths,
      "arrivals = \"gamma\"\nrate = \"7 /min\"\nburstiness = 0.3\nduration = \"5 min\"\n"
      "prompt_tokens = { distribution = \"lognormal\", mean = 1020, p99 = 4000, max = 3000 }\n"
      "output_tokens = { distribution = \"zipf\", min = 3, max = 900, exponent = 0.7 }\n"
      "diurnal = { period = \"1 min\", amplitude = 0.4, peak = \"7 s\" }",
      "arrivals = \"interval\"\nrate = \"3 /s\"\nwindow = [\"1 s\", \"9 s\"]\nrate_scale = 1.7\n"
      "prompt_tokens = { distribution = \"uniform\", min = 4, max = 40 }\n"
      "output_tokens = { distribution = \"lognormal\", median = 30, sigma = 0.7, min = 9 }",
      "arrivals = \"all_at_once\"\nrequests = 9\nprompt_tokens = 5\noutput_tokens = 6\n"
      "priorities = [{ priority = 2, share = 0.5 }, { priority = -1, share = 0.25 }]\n"
      "timeout = { distribution = \"lognormal\", median = \"9 s\", sigma = 0.5 }\n"
      "first_token_timeout = { distribution = \"uniform\", min = \"1 s\", max = \"2 s\" }\n"
      "cancellations = { share = 0.1, after = { distribution = \"exponential\", mean = \"4 s\" } }",
      std::string(poisson) + lengths +
          "\nprefix_block_tokens = 32\nsessions = { turns = 4, think_time = \"3 s\" }\n"
          "system_prompts = { count = 3, tokens = { distribution = \"uniform\", min = 9, max = 99 "
          "} }",
      std::string(poisson) + lengths + "\nsystem_prompts = { tokens = 50, exponent = 0.5 }",
      "arrivals = \"closed_loop\"\nusers = 3\nthink_time = \"20 ms\"\nrequests = 30\n"
      "prompt_tokens = 5\noutput_tokens = 6",
      "trace = \"t.jsonl\"\nrate_scale = 3\nrequests = 2",
      "trace = \"lengths.csv\"\narrivals = \"interval\"\nrate = \"3 /s\"\nrequests = 7\n"
      "output_tokens = 4"};
  for (const std::string& text : tables) {
    const auto first = read(text, options());
    ASSERT_EQ(first.errors, "") << text;
    Value root;
    root.set("workload", first.workload->resolved());
    const std::string written = to_toml(root);
    // Another base folder: the path of a trace is written in full.
    const auto second = read(written.substr(written.find('\n') + 1), {.base_folder = "/nowhere"});
    ASSERT_EQ(second.errors, "") << written;
    Value again;
    again.set("workload", second.workload->resolved());
    EXPECT_EQ(written, to_toml(again));
    const auto expected = requests(*first.workload, 5);
    const auto read_back = requests(*second.workload, 5);
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(arrivals(expected), arrivals(read_back)) << written;
    EXPECT_EQ(prompts(expected), prompts(read_back)) << written;
    EXPECT_EQ(outputs(expected), outputs(read_back)) << written;
  }
}

TEST_F(WorkloadTraces, TheResolvedTableIsWritten) {
  const auto result = read("trace = \"t.jsonl\"\nwindow = [\"1 s\", \"1 min\"]", options());
  ASSERT_EQ(result.errors, "");
  EXPECT_EQ(to_toml(result.workload->resolved()),
            "arrivals = \"trace\"\n"
            "trace = \"" +
                (folder_ / "t.jsonl").string() +
                "\"\n"
                "trace_format = \"mooncake\"\n"
                "prefix_block_tokens = 512\n"
                "window = [\"1 s\", \"60 s\"]\n"
                "\n[prompt_tokens]\ndistribution = \"trace\"\n"
                "\n[output_tokens]\ndistribution = \"trace\"\n");
}

}  // namespace
}  // namespace foretoken::workload_test
