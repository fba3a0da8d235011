// A host is found again in runs that the simulator itself recorded.

#include "sim/library/host_calibration.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "sim/base/toml.hpp"
#include "sim/processes/forked_jobs.hpp"
#include "sim/run/run.hpp"

namespace foretoken::host_calibration_test {
namespace {

/// Of all requests: arrival, first step, first and last token (s), and tokens.
struct Stamps {
  std::vector<double> arrival, scheduled, first, last;
  std::vector<std::int64_t> prompt, output;
};

template <class Archive>
void members(Archive& a, Stamps& stamps) {
  a("arrival", stamps.arrival);
  a("scheduled", stamps.scheduled);
  a("first", stamps.first);
  a("last", stamps.last);
  a("prompt", stamps.prompt);
  a("output", stamps.output);
}

/// vLLM 0.12 prepares no step ahead, so that nothing hides its host.
Scenario scenario(const std::string& rate, const std::string& engine) {
  return read_scenario(
      parse_toml(
          "[predictor]\nname = \"roofline\"\n[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = "
          "\"h100-sxm-1\"\n[engine]\npreset = \"vllm-v1\"\nversion = \"0.12\"\n" +
              engine + "[workload]\narrivals = \"poisson\"\nrate = \"" + rate +
              "\"\nrequests = 300\nprompt_tokens = { distribution = \"uniform\", min = 20, "
              "max = 3000 }\noutput_tokens = 60\n",
          "s.toml"),
      {"."});
}

Stamps stamps_of(const Report& report) {
  Stamps stamps;
  for (const RequestRow& row : report.rows) {
    stamps.arrival.push_back(row.arrival_s);
    stamps.scheduled.push_back(*row.scheduled_s);
    stamps.first.push_back(*row.first_token_s);
    stamps.last.push_back(*row.first_token_s +
                          *row.tpot_ms * 1e-3 * static_cast<double>(row.output_tokens - 1));
    stamps.prompt.push_back(row.prompt_tokens);
    stamps.output.push_back(row.output_tokens);
  }
  return stamps;
}

/// What a client of `from` records, all stamps on one clock.
ServedRun record(const Scenario& from) {
  ForkedJobs<Stamps> jobs(1);
  jobs.start(0, [&] { return stamps_of(run_scenario(from, Catalogs())); });
  const Stamps stamps = jobs.wait()->outcome.report;
  ServedRun run;
  for (std::size_t i = 0; i < stamps.arrival.size(); ++i) {
    ServedRequest& request = run.requests.emplace_back();
    request.arrival = Seconds(stamps.arrival[i]);
    request.scheduled = Seconds(stamps.scheduled[i]);
    request.first_token = Seconds(stamps.first[i]);
    request.last_token = Seconds(stamps.last[i]);
    request.prompt_tokens = stamps.prompt[i];
    request.output_tokens = stamps.output[i];
  }
  return run;
}

double after(const HostFit& fit, std::string_view key) {
  return std::ranges::find(fit.constants, key, &HostConstant::key)->after.value();
}

TEST(CalibrateHost, FindsTheHostOfItsOwnRecords) {
  const std::string truth =
      "host_step = \"1.4 ms\"\nhost_sequence = \"80 us\"\nfront_end_request = \"6 ms\"\n"
      "front_end_token = \"9 us\"\n";
  std::vector<RecordedRun> runs;
  for (const char* rate : {"4 /s", "30 /s"})
    runs.push_back({record(scenario(rate, truth)), scenario(rate, "")});
  const HostFit fit = calibrate_host(runs);
  EXPECT_LT(fit.error_after, 0.02);
  EXPECT_GT(fit.error_before, 4 * fit.error_after);
  EXPECT_NEAR(after(fit, "host_step"), 1.4e-3, 0.2e-3);
  EXPECT_NEAR(after(fit, "host_sequence"), 80e-6, 10e-6);
  EXPECT_NEAR(after(fit, "front_end_request"), 6e-3, 0.6e-3);
  EXPECT_NEAR(after(fit, "front_end_token"), 9e-6, 0.6e-6);
  EXPECT_NEAR(after(fit, "front_end_output"), 10e-3, 1.5e-3);
  EXPECT_NEAR(fit.gpu, 1, 0.03);
}

TEST(CalibrateHost, RefusesAScenarioThatCannotRun) {
  RecordedRun run{{}, scenario("2 /s", "kv_blocks = 1\n")};
  EXPECT_THROW((void)calibrate_host({run}), ConfigError);
}

}  // namespace
}  // namespace foretoken::host_calibration_test
