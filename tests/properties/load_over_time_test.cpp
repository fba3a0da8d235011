// Little's law: what the timeline says was running and waiting is what requests spent doing so.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/properties/forked_run.hpp"

namespace foretoken {
namespace {

struct LoadSeconds {
  double running = 0, waiting = 0;  // request-seconds
};

LoadSeconds of_timeline(const Report& report) {
  LoadSeconds sums;
  for (const TimelinePoint& point : report.timeline) {
    sums.running += point.running * report.timeline_interval_s;
    sums.waiting += point.waiting * report.timeline_interval_s;
  }
  return sums;
}

/// Waiting until the first step that works on it begins.
LoadSeconds of_requests(const Report& report) {
  LoadSeconds sums;
  for (const RequestRow& row : report.rows) {
    const double begun = row.scheduled_s.value_or(row.ended_s);
    sums.waiting += begun - row.arrival_s;
    sums.running += row.ended_s - begun;
  }
  return sums;
}

/// Relative difference of both sums; of the two together where sequences lose their place.
double error_of(const std::string& text) {
  const Report report = run_scenario(scenario_from(text), Catalogs());
  const LoadSeconds seen = of_timeline(report), spent = of_requests(report);
  const double all = spent.running + spent.waiting;
  const double together = std::abs(seen.running + seen.waiting - all) / all;
  if (report.kv.preemptions > 0 || report.kv_transfers || report.requests.retries > 0)
    return together;
  return std::max({together, std::abs(seen.running - spent.running) / all,
                   std::abs(seen.waiting - spent.waiting) / all});
}

void expect_littles_law(const std::string& text) {
  const auto error = in_child([&] { return error_of(text); });
  ASSERT_TRUE(error.has_value()) << text;
  EXPECT_LT(*error, 1e-6) << text;
}

std::string pipeline(int stages, const char* rate) {
  return fmt::format(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8"
[deployment]
pipeline_parallel = {}
[predictor]
name = "roofline"
[workload]
arrivals = "poisson"
rate = "{} /s"
requests = 150
prompt_tokens = 400
output_tokens = 60
)",
                     stages, rate);
}

TEST(LoadOverTime, CountsSequencesInAllStages) {
  for (const int stages : {1, 2, 4, 8}) expect_littles_law(pipeline(stages, "40"));
}

TEST(LoadOverTime, CountsNoMoreThanTheQueueAtLightLoad) {
  for (const int stages : {1, 4}) expect_littles_law(pipeline(stages, "2"));
}

TEST(LoadOverTime, HoldsWhereSequencesArePreempted) { expect_littles_law(busy_pipelines); }

TEST(LoadOverTime, HoldsWhereOthersDecode) {
  expect_littles_law(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8"
[predictor]
name = "roofline"
[pool.prefill]
role = "prefill"
replicas = 2
[pool.decode]
role = "decode"
replicas = 2
[workload]
arrivals = "poisson"
rate = "20 /s"
requests = 150
prompt_tokens = 900
output_tokens = 60
)");
}

}  // namespace
}  // namespace foretoken
