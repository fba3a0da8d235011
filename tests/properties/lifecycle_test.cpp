// Whatever clients, failures and the autoscaler do, under every router and layout: each request
// ends exactly once, tokens that a client got are counted once, and the same seed gives the same
// run.

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/properties/forked_run.hpp"

namespace foretoken {
namespace {

constexpr int output_tokens = 40;

struct RandomCase {
  explicit RandomCase(std::uint32_t seed) : random(seed) {}
  std::uint32_t below(std::uint32_t count) { return random() % count; }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<std::uint32_t>(values.size())));
  }
  std::mt19937 random;
};

std::string random_failures(RandomCase& pick, int gpus, int replicas) {
  std::string text;
  for (std::uint32_t i = pick.below(5); i > 0; --i) {
    const bool is_replica = pick.chance(40);
    const auto index = pick.below(static_cast<std::uint32_t>(is_replica ? replicas : gpus));
    text += fmt::format("[[failures]]\nat = \"{} ms\"\n{} = {}\n", pick.below(3000),
                        is_replica ? "replica" : "gpu", index);
    if (pick.chance(70)) text += fmt::format("recovers_after = \"{} ms\"\n", pick.below(1500));
  }
  if (pick.chance(15)) {
    text += fmt::format("[[failures]]\nat = \"{} ms\"\nnode = 0\nrecovers_after = \"{} ms\"\n",
                        pick.below(2000), pick.below(900));
  }
  return text;
}

std::string random_traffic(RandomCase& pick) {
  std::string text = fmt::format(
      "[workload]\noutput_tokens = {}\nrequests = {}\nprompt_tokens = {{ distribution = "
      "\"uniform\", min = 1, max = 500 }}\n",
      output_tokens, 20 + pick.below(100));
  text += pick.one_of({"arrivals = \"poisson\"\nrate = \"60 /s\"\n", "arrivals = \"all_at_once\"\n",
                       "arrivals = \"closed_loop\"\nusers = 9\nthink_time = \"20 ms\"\n"});
  if (pick.chance(40)) {
    text += "timeout = { distribution = \"exponential\", mean = \"1200 ms\" }\n";
  }
  if (pick.chance(40)) {
    text += "first_token_timeout = { distribution = \"uniform\", min = \"0 s\", max = \"1 s\" }\n";
  }
  if (pick.chance(40)) {
    text +=
        "cancellations = { share = 0.4, after = { distribution = \"uniform\", min = \"0 s\", max = "
        "\"900 ms\" } }\n";
  }
  if (pick.chance(50)) {
    text +=
        "[workload.sessions]\nturns = { distribution = \"uniform\", min = 1, max = 5 }\n"
        "think_time = { distribution = \"exponential\", mean = \"100 ms\" }\n"
        "[workload.system_prompts]\ncount = 3\ntokens = 100\n";
  }
  return text;
}

std::string random_scenario(std::uint32_t seed) {
  RandomCase pick(seed);
  const int tensor = pick.one_of({1, 2});
  const int pipeline = pick.one_of({1, 2, 3});
  const int replicas = static_cast<int>(1 + pick.below(4));
  const int most = replicas + static_cast<int>(pick.below(2));
  const bool is_scaled = pick.chance(40);
  const int gpus = 8 * most;
  std::string text = fmt::format(
      R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8x{}"
[deployment]
tensor_parallel = {}
pipeline_parallel = {}
replicas = {}
router = "{}"
[engine]
scheduler = "{}"
batch_tokens_max = {}
sequences_max = 32
kv_blocks = {}
host_time = "2 ms"
[predictor]
name = "roofline"
[front_end]
attempts_max = {}
retry_delay = "{} ms"
outstanding_max = {}
status_interval = "{} ms"
[startup]
time = "{} ms"
is_cold = {}
)",
      most, tensor, pipeline, replicas,
      pick.one_of({"round_robin", "least_outstanding", "kv_load", "power_of_two", "prefix_affinity",
                   "sticky"}),
      pick.one_of({"vllm_v1", "orca", "sarathi", "sglang", "tensorrt_llm", "static",
                   "shortest_job_first", "priority"}),
      pick.one_of({48, 200, 1024}), pick.chance(50) ? 300 : 2000, 1 + pick.below(4),
      pick.below(2) * 50, pick.chance(25) ? 6 : 0, pick.below(2) * 100, pick.below(3) * 200,
      pick.chance(25) ? "true" : "false");
  if (is_scaled) {
    const char* metric = pick.one_of({"queue", "outstanding", "utilization", "kv"});
    text += fmt::format(
        "[autoscaler]\nmin = 1\nmax = {}\nmetric = \"{}\"\ntarget = {}\ninterval = \"{} ms\"\n"
        "cooldown_up = \"0 s\"\ncooldown_down = \"{} ms\"\n",
        most, metric, pick.one_of({0.05, 0.3, 0.9}), 20 + pick.below(200), pick.below(500));
  }
  text += random_failures(pick, gpus, is_scaled ? most : replicas);
  text += random_traffic(pick);
  if (pick.chance(20)) text += fmt::format("[run]\nhorizon = \"{} ms\"\n", 100 + pick.below(2000));
  return text;
}

/// Runs it, checks the laws, and returns most of the event fingerprint.
double run_and_check(const std::string& text, std::uint32_t seed, Report::Requests* out = nullptr) {
  const Scenario scenario = scenario_from(text, {fmt::format("run.seed={}", seed)});
  const Report report = run_scenario(scenario, Catalogs());
  const Report::Requests& requests = report.requests;
  FORETOKEN_CHECK(requests.arrived == requests.completed + requests.failed + requests.unfinished +
                                          requests.cancelled + requests.timed_out +
                                          requests.rejected,
                  "{} requests arrived", requests.arrived);
  FORETOKEN_CHECK(scenario.run.horizon || requests.unfinished == 0,
                  "{} unfinished without a horizon", requests.unfinished);
  std::set<std::uint32_t> ids;
  double tokens = 0;
  for (const RequestRow& row : report.rows) {
    FORETOKEN_CHECK(ids.insert(row.id).second, "request {} ended twice", row.id);
    const bool is_completed = row.status == "completed";
    FORETOKEN_CHECK(row.finished_s.has_value() == is_completed, "{} finished", row.id);
    FORETOKEN_CHECK(
        is_completed ? row.output_tokens == output_tokens : row.output_tokens <= output_tokens,
        "request {} got {} tokens", row.id, row.output_tokens);
    FORETOKEN_CHECK(row.first_token_s.has_value() == (row.output_tokens > 0), "{} began", row.id);
    FORETOKEN_CHECK(row.attempts >= 1 && row.attempts <= scenario.front_end.attempts_max,
                    "request {} was sent to {} replicas", row.id, row.attempts);
    if (row.first_token_s) {
      FORETOKEN_CHECK(row.arrival_s <= *row.scheduled_s && *row.scheduled_s < *row.first_token_s,
                      "request {} out of order", row.id);
    }
    tokens += static_cast<double>(row.output_tokens);
  }
  double sent = 0;
  for (const TimelinePoint& point : report.timeline) {
    sent += point.output_tokens_per_s * report.timeline_interval_s;
  }
  FORETOKEN_CHECK(std::abs(sent - tokens) < 1e-6 * (1 + tokens), "{} tokens sent, {} received",
                  sent, tokens);
  if (out != nullptr) *out = requests;
  constexpr std::uint64_t mantissa = (std::uint64_t{1} << 53) - 1;
  return static_cast<double>(report.event_fingerprint & mantissa);
}

constexpr std::uint32_t seeds = 150;

TEST(LifecycleProperties, EveryRequestEndsExactlyOnce) {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const std::string text = random_scenario(seed);
    ASSERT_TRUE(in_child([&] { return run_and_check(text, seed); }).has_value())
        << "seed " << seed << text;
  }
}

TEST(LifecycleProperties, TheSameSeedGivesTheSameRun) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const std::string text = random_scenario(seed);
    const auto once = in_child([&] { return run_and_check(text, seed); });
    const auto again = in_child([&] { return run_and_check(text, seed); });
    ASSERT_TRUE(once.has_value());
    EXPECT_EQ(*once, *again) << "seed " << seed;
  }
}

TEST(LifecycleProperties, TheMixHasEveryWayToEnd) {
  // Counts packed into one number: each way's share of the runs is only asked to be there.
  std::set<int> ways;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const std::string text = random_scenario(seed);
    const auto result = in_child([&] {
      Report::Requests requests;
      run_and_check(text, seed, &requests);
      const std::int64_t counts[] = {requests.completed, requests.failed,    requests.unfinished,
                                     requests.cancelled, requests.timed_out, requests.rejected,
                                     requests.retries};
      double bits = 0;
      for (int i = 0; i < 7; ++i) bits += counts[i] > 0 ? 1 << i : 0;
      return bits;
    });
    ASSERT_TRUE(result.has_value());
    for (int i = 0; i < 7; ++i) {
      if ((static_cast<int>(*result) >> i & 1) != 0) ways.insert(i);
    }
  }
  EXPECT_EQ(ways.size(), 7U);
}

}  // namespace
}  // namespace foretoken
