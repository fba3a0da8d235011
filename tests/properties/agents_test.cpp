// Agents' trajectories, against counting by hand and against a plain account of who waited for
// whom.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "tests/own_folder.hpp"
#include "tests/properties/run_text.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr const char* one_task = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[predictor]
name = "roofline"
[workload]
arrivals = "closed_loop"
users = 1
requests = 6
prompt_tokens = 100
output_tokens = 50
[workload.agents]
calls = 2
tool_time = "1 s"
tool_tokens = 30
[workload.agents.subagents]
share = 1.0
count = 2
calls = 2
prompt_tokens = 70
[workload.system_prompts]
tokens = 64
)";

const RequestRow& row(const Report& report, std::uint32_t id) { return report.rows.at(id); }

TEST(AgentProperties, AForkAndItsJoinAreWhatCountingByHandSays) {
  const Report report = run_scenario(scenario_from(one_task), Catalogs());
  ASSERT_EQ(report.rows.size(), 6U);
  // 0: the task; 1, 2: both subagents begin; 3, 4: their second calls; 5: the agent reads both
  // answers of 50 tokens.
  EXPECT_EQ(row(report, 0).prompt_tokens, 64 + 100);
  for (const std::uint32_t id : {1U, 2U}) {
    EXPECT_EQ(row(report, id).prompt_tokens, 64 + 70);
    EXPECT_NEAR(row(report, id).arrival_s, *row(report, 0).finished_s, 1e-9);
    EXPECT_EQ(row(report, id).after, 0U);
  }
  for (const std::uint32_t id : {3U, 4U}) {
    EXPECT_EQ(row(report, id).prompt_tokens, 64 + 70 + 50 + 30);
    EXPECT_NEAR(row(report, id).arrival_s, *row(report, *row(report, id).after).finished_s + 1.0,
                1e-9);
  }
  EXPECT_EQ(row(report, 5).prompt_tokens, 64 + 100 + 50 + 2 * 50);
  const double both = std::max(*row(report, 3).finished_s, *row(report, 4).finished_s);
  EXPECT_NEAR(row(report, 5).arrival_s, both, 1e-9);
  EXPECT_DOUBLE_EQ(*row(report, *row(report, 5).after).finished_s, both);
  for (const RequestRow& each : report.rows) EXPECT_EQ(each.session, 0U);

  // The whole takes from the first arrival to the last answer; a second of it was a tool's.
  ASSERT_TRUE(report.trajectories);
  const double whole = *row(report, 5).finished_s - row(report, 0).arrival_s;
  EXPECT_EQ(report.trajectories->completed, 1);
  EXPECT_NEAR(report.trajectories->e2e_ms.mean, whole * 1e3, 1e-6);
  EXPECT_NEAR(report.trajectories->model_share, (whole - 1.0) / whole, 1e-9);
  EXPECT_NEAR(report.trajectories->output_tokens_per_s.mean, 6 * 50 / whole, 1e-6);
}

TEST(AgentProperties, ThinkingIsGeneratedAndForgotten) {
  const Report report = run_scenario(
      scenario_from(one_task, {"workload.agents.subagents.share=0",
                               "workload.agents.thinking_tokens=40", "workload.requests=2"}),
      Catalogs());
  ASSERT_EQ(report.rows.size(), 2U);
  EXPECT_EQ(row(report, 0).output_tokens, 90);
  EXPECT_EQ(row(report, 1).prompt_tokens, 64 + 100 + 50 + 30);
  // The second prompt finds the first one's 164 tokens, 10 whole blocks of 16, and nothing behind.
  EXPECT_DOUBLE_EQ(*report.kv.prefix_hit_rate, 160.0 / (164 + 244));
}

TEST(AgentProperties, AContextThatGrewTooLongIsCut) {
  const Report report = run_scenario(
      scenario_from(one_task, {"workload.agents.subagents.share=0", "workload.agents.calls=30",
                               "workload.agents.context_tokens_max=600",
                               "workload.agents.context_tokens_kept=120", "workload.requests=30"}),
      Catalogs());
  ASSERT_EQ(report.requests.completed, 30);
  // 164, then 80 more a call. The sixth would make 214 + 5 * 80 = 614: it goes on from 64 + 120.
  EXPECT_EQ(row(report, 4).prompt_tokens, 164 + 4 * 80);
  EXPECT_EQ(row(report, 5).prompt_tokens, 64 + 120 + 30);
  for (const RequestRow& each : report.rows) {
    EXPECT_LE(each.prompt_tokens + each.output_tokens, 600) << each.id;
  }
}

std::vector<std::string> random_agents(int seed) {
  return {"run.seed=" + std::to_string(seed),
          "workload.requests=400",
          "workload.users=8",
          "workload.prompt_tokens={distribution='uniform',min=1,max=800}",
          "workload.output_tokens={distribution='uniform',min=1,max=200}",
          "workload.agents.calls={distribution='uniform',min=1,max=9}",
          "workload.agents.tool_time={distribution='exponential',mean='0.4 s'}",
          "workload.agents.subagents.share=0.4",
          "workload.agents.subagents.count={distribution='uniform',min=1,max=4}",
          "workload.agents.subagents.calls={distribution='uniform',min=1,max=3}"};
}

class RandomAgents : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, RandomAgents, testing::Range(0, 6));

TEST_P(RandomAgents, NoCallIsBeforeWhatItWaitsForAndNoneIsLost) {
  std::vector<std::string> changes = random_agents(GetParam());
  if (GetParam() % 2 == 1) {
    changes.push_back("workload.cancellations={share=0.1,after='50 ms'}");
  }
  const Report report = run_scenario(scenario_from(one_task, changes), Catalogs());
  std::map<std::uint64_t, double> failed_at;
  for (const RequestRow& each : report.rows) {
    if (each.status != "completed") {
      const auto [at, is_new] = failed_at.try_emplace(*each.session, each.ended_s);
      if (!is_new) at->second = std::min(at->second, each.ended_s);
    }
  }
  std::map<std::uint64_t, std::pair<double, double>> span;
  for (const RequestRow& each : report.rows) {
    if (each.after) {
      const RequestRow& before = row(report, *each.after);
      EXPECT_EQ(before.status, "completed");
      EXPECT_EQ(before.session, each.session);
      EXPECT_GE(each.arrival_s, *before.finished_s);
      // Whoever it waits for had ended before the trajectory failed.
      if (failed_at.contains(*each.session)) {
        EXPECT_LE(before.ended_s, failed_at.at(*each.session));
      }
    }
    auto [found, is_first] =
        span.try_emplace(*each.session, each.arrival_s, each.finished_s.value_or(0));
    found->second.second = std::max(found->second.second, each.finished_s.value_or(0));
    EXPECT_EQ(is_first, !each.after) << "the first of a trajectory waits for nobody";
  }
  ASSERT_TRUE(report.trajectories);
  EXPECT_EQ(report.trajectories->started, std::ssize(span));
  // The limit on requests may cut the last one short.
  const std::int64_t cut =
      std::ssize(span) - std::ssize(failed_at) - report.trajectories->completed;
  EXPECT_TRUE(cut == 0 || cut == 1) << cut;
  if (cut == 1) span.erase(std::prev(span.end()));
  if (failed_at.empty()) {
    EXPECT_EQ(report.requests.completed, 400);
  }
  double longest = 0;
  for (const auto& [number, times] : span) {
    if (!failed_at.contains(number)) longest = std::max(longest, times.second - times.first);
  }
  EXPECT_NEAR(report.trajectories->e2e_ms.max, longest * 1e3, 1e-6);
  EXPECT_GT(report.trajectories->model_share, 0.0);
  EXPECT_LE(report.trajectories->model_share, 1.0 + 1e-12);
}

TEST(AgentProperties, ADispatchSendsTheNextWhateverElseGoesOn) {
  const std::string file = own_folder() / "dispatch.jsonl";
  std::ofstream(file)
      << R"({"schema":"dynamo.agentic_mooncake","version":2,"block_size":64,"hash_id_scope":"local","source":{"format":"x","digest":"y"}})"
         "\n"
         R"({"request_id":"a","play_id":"p","session_id":"m","model":"m","input_length":64,"output_length":400,"hash_ids":[1],"not_before_ms":0})"
         "\n"
         R"({"request_id":"b","play_id":"p","session_id":"k","model":"m","input_length":64,"output_length":400,"hash_ids":[2],"not_before_ms":0,"dependencies":[{"request_id":"a","trigger":"dispatch","relation":"spawn","delay_ms":300}]})"
         "\n";
  const Report report = run_scenario(
      scenario_from("[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = \"h200-sxm-1\"\n"
                    "[predictor]\nname = \"roofline\"\n[workload]\ntrace = \"" +
                    file + "\"\n"),
      Catalogs());
  ASSERT_EQ(report.rows.size(), 2U);
  const RequestRow &a = report.rows[0], &b = report.rows[1];
  EXPECT_DOUBLE_EQ(b.arrival_s, 0.3);
  EXPECT_LT(*b.scheduled_s, 0.32);
  EXPECT_EQ(b.after, a.id);
  ASSERT_GT(*a.finished_s, 0.3);
  // Until b was sent a worked, then b did: the model never let the agent wait for anything else.
  EXPECT_NEAR(report.trajectories->model_share, 1.0, 1e-9);
}

TEST(AgentProperties, ATaskThatTheLimitCutsIsNotCompleted) {
  const Report report = run_scenario(scenario_from(one_task, {"workload.requests=1"}), Catalogs());
  EXPECT_EQ(report.requests.completed, 1);
  ASSERT_TRUE(report.trajectories);
  EXPECT_EQ(report.trajectories->started, 1);
  EXPECT_EQ(report.trajectories->completed, 0);
}

/// Recorded agents, against the order that their trace tells.
class RecordedAgents : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, RecordedAgents,
                         testing::Values("weka", "agentic_mooncake", "bailian", "mooncake_sessions",
                                         "chats"));

TEST_P(RecordedAgents, EveryCallComesAfterThoseItWaitsForAndNoneIsLost) {
  const std::string file =
      std::string(FORETOKEN_SOURCE_DIR "/examples/traces/") + GetParam() + ".jsonl";
  const auto trace = load_trace(file, "", false, trace_format_registry());
  std::string text = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-2"
[deployment]
replicas = 2
router = "prefix_affinity"
[engine]
kv_blocks = 1600
[predictor]
name = "roofline"
[workload]
trace = ")" + file + "\"\n";
  if (!trace->has_arrivals()) {
    text += "arrivals = \"all_at_once\"\nrequests = " + std::to_string(trace->size()) + "\n";
  }
  const Report report = run_scenario(scenario_from(text), Catalogs());
  EXPECT_EQ(report.requests.completed, std::ssize(report.rows));
  ASSERT_EQ(report.rows.size(), trace->size());
  // Rows of a trajectory come in the order of its calls where one waits for the other.
  std::map<std::uint64_t, std::vector<const RequestRow*>> rows;
  for (const RequestRow& each : report.rows) rows[*each.session].push_back(&each);
  ASSERT_EQ(rows.size(), trace->trajectories().size());
  for (const auto& [number, all] : rows) {
    const TraceTrajectory& calls = trace->trajectories()[number];
    ASSERT_EQ(all.size(), calls.size());
    // Which row is which call: by its lengths, as those that wait for nobody else may change
    // places.
    std::vector<const RequestRow*> row_of(calls.size());
    std::vector<bool> is_taken(all.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (std::size_t k = 0; k < all.size() && row_of[i] == nullptr; ++k) {
        const bool is_it =
            !is_taken[k] && all[k]->output_tokens == trace->output_tokens(calls[i].row) &&
            (calls[i].adds_to_text || all[k]->prompt_tokens == trace->prompt_tokens(calls[i].row));
        if (!is_it) continue;
        row_of[i] = all[k];
        is_taken[k] = true;
      }
      ASSERT_NE(row_of[i], nullptr) << number << ": call " << i;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (const CallWait& wait : calls[i].waits_for) {
        const RequestRow& before = *row_of[static_cast<std::size_t>(wait.call)];
        const double since = wait.for_start ? before.arrival_s : *before.finished_s;
        EXPECT_GE(row_of[i]->arrival_s, since + wait.delay.value() - 1e-6) << number << ": " << i;
      }
    }
  }
  ASSERT_TRUE(report.trajectories);
  EXPECT_EQ(report.trajectories->completed, std::ssize(rows));
}

}  // namespace
}  // namespace foretoken
