// Fitting a host: on latencies that are sums of its times, where the answer is known, and what a
// recorded run shows of it.

#include "sim/run/host_fit.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace foretoken::host_fit_test {
namespace {

/// Latencies of four kinds of requests, s: a step's GPU time and `sequences` of them, front end and
/// prompt. host_layer does the same as host_launch, and nothing shows host_graph_launch.
std::vector<double> latencies(const HostTrial& trial) {
  const HostSettings& host = trial.host;
  std::vector<double> seen;
  for (const double prompt : {100.0, 8000.0}) {
    seen.push_back(trial.gpu * (5e-3 + 4e-6 * prompt) + host.front_end_request.value() +
                   prompt * host.front_end_token.value() + 200 * host.launch.value() +
                   40 * host.layer.value());
  }
  for (const double sequences : {1.0, 8.0, 32.0, 64.0}) {
    seen.push_back(trial.gpu * (6e-3 + 2e-5 * sequences) + host.step.value() +
                   sequences * host.sequence.value());
  }
  for (const double prompt : {100.0, 8000.0})
    seen.push_back(host.front_end_request.value() + prompt * host.front_end_token.value());
  return seen;
}

HostFit fit(const HostTrial& truth, const HostSettings& start) {
  std::vector<HostSight> recorded;
  for (const double seconds : latencies(truth)) recorded.push_back({seconds, seconds});
  return fit_host(recorded, start, 0.03, [](const std::vector<HostTrial>& trials) {
    std::vector<std::vector<double>> seen;
    for (const HostTrial& trial : trials) seen.push_back(latencies(trial));
    return seen;
  });
}

const HostConstant& constant(const HostFit& fit, std::string_view key) {
  return *std::ranges::find(fit.constants, key, &HostConstant::key);
}

HostSettings usual() {
  HostSettings host;
  host.step = Seconds(800e-6);
  host.sequence = Seconds(50e-6);
  host.launch = Seconds(5e-6);
  host.front_end_request = Seconds(3e-3);
  host.front_end_token = Seconds(5e-6);
  return host;
}

TEST(HostFit, FindsTheTimesThatWereThere) {
  HostTrial truth{usual(), 1};
  truth.host.step = Seconds(1.5e-3);
  truth.host.sequence = Seconds(20e-6);
  truth.host.front_end_request = Seconds(8e-3);
  const HostFit found = fit(truth, usual());
  EXPECT_NEAR(constant(found, "host_step").after.value(), 1.5e-3, 3e-5);
  EXPECT_NEAR(constant(found, "host_sequence").after.value(), 20e-6, 1e-6);
  EXPECT_NEAR(constant(found, "front_end_request").after.value(), 8e-3, 2e-4);
  EXPECT_NEAR(constant(found, "front_end_token").after.value(), 5e-6, 1e-7);
  EXPECT_NEAR(found.gpu, 1, 0.01);
  EXPECT_LT(found.error_after, 0.1 * found.error_before);
  EXPECT_EQ(found.host.step, constant(found, "host_step").after);
}

TEST(HostFit, KeepsWhatLatenciesDoNotTell) {
  HostTrial truth{usual(), 1};
  truth.host.launch = Seconds(20e-6);
  const HostFit found = fit(truth, usual());
  EXPECT_EQ(constant(found, "host_graph_launch").fate, HostFate::unseen);
  EXPECT_EQ(constant(found, "host_request").fate, HostFate::unseen);
  const HostConstant& layer = constant(found, "host_layer");
  EXPECT_EQ(layer.fate, HostFate::alike);
  EXPECT_EQ(layer.like, "host_launch") << "which the preset had set";
  EXPECT_EQ(layer.after, Seconds(0.0));
  EXPECT_NEAR(constant(found, "host_launch").after.value(), 20e-6, 2e-6);
}

TEST(HostFit, NoTimeFallsBelowZero) {
  HostTrial truth{usual(), 0.97};
  truth.host.step = Seconds(0.0);
  truth.host.sequence = Seconds(0.0);
  const HostFit found = fit(truth, usual());
  for (const HostConstant& each : found.constants) EXPECT_GE(each.after, Seconds(0.0)) << each.key;
  EXPECT_LT(constant(found, "host_step").after, Seconds(300e-6));
}

TEST(HostFit, PricesGiveWayOnlyWhereTheyMay) {
  const HostFit found = fit({usual(), 1.04}, usual());
  EXPECT_GT(found.gpu, 1.0);
  EXPECT_LT(found.gpu, 1.06);
}

ServedRequest request(double arrival, double first, double last, int prompt, int output) {
  ServedRequest made;
  made.arrival = Seconds(arrival);
  made.scheduled = Seconds(arrival + 0.25);
  made.first_token = Seconds(first);
  made.last_token = Seconds(last);
  made.prompt_tokens = prompt;
  made.output_tokens = output;
  return made;
}

// Ten requests make two groups of five of each latency: short and long prompts, little and much
// company.
TEST(HostView, SeesMeansOfGroups) {
  ServedRun run;
  for (int i = 0; i < 10; ++i) {
    const bool is_long = i % 2 == 1;
    run.requests.push_back(request(i, i + (is_long ? 0.9 : 0.5), i + 5.0, is_long ? 4000 : 10, 11));
  }
  const HostView view(run);
  ASSERT_EQ(view.recorded().size(), 6U);
  EXPECT_NEAR(view.recorded()[0].seconds, 0.5, 1e-12);
  EXPECT_NEAR(view.recorded()[1].seconds, 0.9, 1e-12);
  EXPECT_NEAR(view.recorded()[4].seconds, 0.25, 1e-12);
  EXPECT_NEAR(view.recorded()[4].scale, 0.5, 1e-12) << "a wait is measured by the TTFT";
  std::vector<RequestRow> rows(10);
  for (std::size_t i = 0; i < 10; ++i) {
    rows[i].ttft_ms = i % 2 == 1 ? 1000 : 400;
    rows[i].tpot_ms = 100;
    rows[i].arrival_s = double(i);
    rows[i].scheduled_s = double(i) + 0.1;
  }
  const std::vector<double> seen = view.simulated(rows);
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_NEAR(seen[0], 0.4, 1e-12);
  EXPECT_NEAR(seen[1], 1.0, 1e-12);
  EXPECT_NEAR(seen[2], 0.1, 1e-12);
  EXPECT_NEAR(seen[5], 0.1, 1e-12);
}

TEST(HostView, WaitsOnTwoClocksAreNotSeen) {
  ServedRun run;
  run.has_two_clocks = true;
  for (int i = 0; i < 5; ++i) run.requests.push_back(request(i, i + 0.5, i + 1.0, 10, 5));
  const HostView view(run);
  ASSERT_EQ(view.recorded().size(), 2U);
  EXPECT_NEAR(view.recorded()[0].seconds, 0, 1e-12) << "all there is to TTFT is a constant";
  std::vector<RequestRow> rows(5);
  for (RequestRow& row : rows) row.ttft_ms = 700;
  EXPECT_NEAR(view.simulated(rows)[0], 0, 1e-12);
}

}  // namespace
}  // namespace foretoken::host_fit_test
