// Laws of any run, whatever clients, failures and autoscalers do: each request ends exactly once,
// and tokens that a client got are counted once. And random traffic to try them on.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "tests/properties/forked_run.hpp"

namespace foretoken {

inline constexpr int output_tokens = 40;

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

/// Lines of [front_end]: a gateway that queues, sheds and limits, or none. random_traffic() has the
/// tenants.
inline std::string random_gateway(RandomCase& pick) {
  if (pick.chance(50)) return fmt::format("outstanding_max = {}\n", pick.chance(50) ? 6 : 0);
  std::string text =
      fmt::format("outstanding_max = {}\nqueue_max = {}\nqueue_order = \"{}\"\n", 1 + pick.below(6),
                  1 + pick.below(30), pick.one_of({"fcfs", "round_robin"}));
  if (pick.chance(50)) {
    text += fmt::format("classes = [{{ priority = 1, queue_max = {} }}]\n", pick.below(6));
  }
  if (pick.chance(40)) {
    text += "tenants = [{ tenant = \"b\", request_rate = \"30 /s\", burst = \"200 ms\" }]\n";
  }
  return text;
}

/// Arrivals of every kind, of two tenants, some with clients that give up and sessions.
inline std::string random_traffic(RandomCase& pick) {
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
  text +=
      "classes = [{ tenant = \"a\", share = 1 }, { tenant = \"b\", share = 2, priority = 1 }]\n";
  if (pick.chance(50)) {
    text +=
        "[workload.sessions]\nturns = { distribution = \"uniform\", min = 1, max = 5 }\n"
        "think_time = { distribution = \"exponential\", mean = \"100 ms\" }\n"
        "[workload.system_prompts]\ncount = 3\ntokens = 100\n";
  }
  return text;
}

/// Runs it, checks the laws, and returns most of the event fingerprint.
inline double run_and_check(const std::string& text, std::uint32_t seed,
                            Report::Requests* out = nullptr) {
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

/// `scenario_of(seed)` for each seed from `first` to `last`: every request ends exactly once.
template <class Scenarios>
void expect_laws_hold(const Scenarios& scenario_of, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    const std::string text = scenario_of(seed);
    ASSERT_TRUE(in_child([&] { return run_and_check(text, seed); }).has_value())
        << "seed " << seed << text;
  }
}

template <class Scenarios>
void expect_same_seed_same_run(const Scenarios& scenario_of, std::uint32_t seeds) {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const std::string text = scenario_of(seed);
    const auto once = in_child([&] { return run_and_check(text, seed); });
    const auto again = in_child([&] { return run_and_check(text, seed); });
    ASSERT_TRUE(once.has_value());
    EXPECT_EQ(*once, *again) << "seed " << seed;
  }
}

}  // namespace foretoken
