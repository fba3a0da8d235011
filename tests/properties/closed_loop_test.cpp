// What users of a closed loop cannot do, whatever they send: have more requests open than they are,
// and be kept waiting by users who have yet to come.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/properties/forked_run.hpp"

namespace foretoken::closed_loop_test {
namespace {

constexpr const char* chats = R"(
[workload.sessions]
turns = 3
think_time = "200 ms"
)";
constexpr const char* agents = R"(
[workload.agents]
calls = 3
tool_time = "100 ms"
tool_tokens = 50
)";

Report run(const std::string& traffic, const std::vector<std::string>& overrides) {
  return run_scenario(scenario_from("[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = "
                                    "\"h200-sxm-1\"\n[predictor]\nname = \"roofline\"\n"
                                    "[workload]\narrivals = \"closed_loop\"\nusers = 4\n"
                                    "requests = 90\nprompt_tokens = 200\noutput_tokens = 20\n" +
                                        traffic,
                                    overrides),
                      Catalogs());
}

/// The most requests that are between arrival and finish at once.
double open_at_most(const Report& report) {
  std::vector<std::pair<double, int>> changes;  // who has an answer may send at the same date
  for (const RequestRow& row : report.rows) {
    changes.emplace_back(row.arrival_s + 1e-9, 1);
    changes.emplace_back(row.finished_s.value(), -1);
  }
  std::ranges::sort(changes);
  int open = 0, most = 0;
  for (const auto& [date, change] : changes) most = std::max(most, open += change);
  return most;
}

TEST(ClosedLoopProperties, NoUserHasTwoRequestsOpen) {
  for (const std::string traffic : {"", chats, agents}) {
    for (const std::string output : {"0 s", "120 ms", "1 s"}) {
      SCOPED_TRACE(traffic + output);
      const auto open = in_child(
          [&] { return open_at_most(run(traffic, {"engine.front_end_output='" + output + "'"})); });
      EXPECT_EQ(open, 4.0);
    }
  }
}

TEST(ClosedLoopProperties, AnAnswersWayToTheClientSlowsTheLoop) {
  const auto duration = [](const std::string& output) {
    return in_child([&] {
             return run("", {"workload.users=1", "engine.front_end_output='" + output + "'"})
                 .duration_s;
           })
        .value();
  };
  EXPECT_NEAR(duration("1 s"), duration("0 s") + 90.0, 1e-6);
}

// Other models' requests are given up when they arrive, which a ramp puts after ends to come.
TEST(ClosedLoopProperties, OneModelOfTwoIsServedFromARampOfUsers) {
  const auto unserved = in_child([] {
    const Report report = run_scenario(scenario_from(R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8"
[predictor]
name = "roofline"
[pool.chat]
role = "both"
[pool.draft]
role = "both"
model = { name = "qwen3-0.6b" }
[workload]
arrivals = "closed_loop"
users = 4
ramp_up = "100 s"
requests = 60
prompt_tokens = 200
output_tokens = 50
classes = [{ model = "llama-3.1-8b", share = 0.5 }, { model = "qwen3-0.6b", share = 0.5 }]
[run]
only_model = "llama-3.1-8b"
)"),
                                       Catalogs());
    EXPECT_GT(report.requests.arrived, 0);
    return static_cast<double>(report.requests.arrived - report.requests.completed);
  });
  EXPECT_EQ(unserved, 0.0);
}

TEST(ClosedLoopProperties, NobodyWaitsForUsersWhoAreYetToCome) {
  for (const std::string traffic : {"", chats, agents}) {
    SCOPED_TRACE(traffic);
    const auto longest = in_child([&] {
      return run(traffic, {"workload.users=2", "workload.ramp_up=200 s"}).ttft_ms.max;
    });
    EXPECT_LT(longest.value(), 100.0);
  }
}

}  // namespace
}  // namespace foretoken::closed_loop_test
