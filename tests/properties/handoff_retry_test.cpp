// A decode replica that fails while prompts wait at the replica that computed them: with retry =
// failed_side they are not computed again. Counts of steps and of attempts follow by hand.

#include <gtest/gtest.h>

#include "tests/properties/forked_run.hpp"

namespace foretoken::handoff_retry_test {
namespace {

// A prompt a step, and a decode replica with room for one request: of three that come at once, the
// first decodes when its replica fails, and two wait for its blocks.
constexpr const char* three_requests = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-2"
[predictor]
name = "roofline"
[front_end]
retry_delay = "100 ms"
[pool.prefill]
role = "prefill"
[pool.prefill.engine]
batch_tokens_max = 1600
prefix_caching = false
[pool.decode]
role = "decode"
[pool.decode.engine]
kv_blocks = 120
[[failures]]
at = "500 ms"
replica = 0
pool = "decode"
recovers_after = "200 ms"
[workload]
arrivals = "all_at_once"
requests = 3
prompt_tokens = 1600
output_tokens = 200
)";

/// One figure of a run with these changes.
double of_run(const std::vector<std::string>& changes,
              const std::function<double(const Report&)>& figure) {
  return in_child([&] {
           return figure(run_scenario(scenario_from(three_requests, changes), Catalogs()));
         })
      .value_or(-1e9);
}

double prefill_steps(const Report& report) {
  return static_cast<double>(report.pools.front().iterations);
}
double retries(const Report& report) { return static_cast<double>(report.requests.retries); }
double kept(const Report& report) {
  return static_cast<double>(report.kv_transfers->kept.value_or(-1));
}
double completed(const Report& report) { return static_cast<double>(report.requests.completed); }
double failed(const Report& report) { return static_cast<double>(report.requests.failed); }

TEST(HandoffRetry, WholeComputesAllPromptsAgain) {
  for (const char* transfer : {"after_prefill", "layer_wise"}) {
    const std::vector<std::string> changes = {std::string("deployment.kv_transfer=") + transfer};
    EXPECT_EQ(of_run(changes, prefill_steps), 6) << transfer;
    EXPECT_EQ(of_run(changes, retries), 3);
    EXPECT_EQ(of_run(changes, kept), -1);
    EXPECT_EQ(of_run(changes, completed), 3);
  }
}

TEST(HandoffRetry, FailedSideKeepsThePromptsThatWait) {
  for (const char* transfer : {"after_prefill", "layer_wise"}) {
    const std::vector<std::string> changes = {std::string("deployment.kv_transfer=") + transfer,
                                              "deployment.retry=failed_side"};
    EXPECT_EQ(of_run(changes, prefill_steps), 4) << transfer;  // the one that decoded, again
    EXPECT_EQ(of_run(changes, retries), 3);
    EXPECT_EQ(of_run(changes, kept), 2);
    EXPECT_EQ(of_run(changes, completed), 3);
  }
}

TEST(HandoffRetry, AttemptsAreLimitedEitherWay) {
  const std::vector<std::string> changes = {"deployment.retry=failed_side",
                                            "front_end.attempts_max=1"};
  EXPECT_EQ(of_run(changes, failed), 3);
  EXPECT_EQ(of_run(changes, kept), 0);
}

TEST(HandoffRetry, AFailedPrefillReplicaCostsTheWholeRequest) {
  const std::vector<std::string> changes = {"deployment.retry=failed_side", "failures=[]"};
  EXPECT_EQ(of_run(changes, prefill_steps), 3);
  const auto of_prefill = [&](const auto& figure) {
    return in_child([&] {
      std::string text = three_requests;
      text.replace(text.find("pool = \"decode\""), 15, "pool = \"prefill\"");
      return figure(
          run_scenario(scenario_from(text, {"deployment.retry=failed_side"}), Catalogs()));
    });
  };
  EXPECT_EQ(of_prefill(prefill_steps), 5);  // the two that waited there
  EXPECT_EQ(of_prefill(kept), 0);
  EXPECT_EQ(of_prefill(completed), 3);
}

double recomputed(const Report& report) {
  return static_cast<double>(report.kv_transfers->recomputed.value_or(-1));
}
double output_tokens(const Report& report) {
  double sum = 0;
  for (const RequestRow& row : report.rows) sum += static_cast<double>(row.output_tokens);
  return sum;
}
double decode_steps(const Report& report) {
  return static_cast<double>(report.pools.back().iterations);
}

/// With the prefill replica failing in place of the decode replica, for good.
double of_lost_prefill(std::vector<std::string> changes,
                       const std::function<double(const Report&)>& figure) {
  return in_child([&] {
           std::string text = three_requests;
           text.replace(text.find("pool = \"decode\""), 15, "pool = \"prefill\"");
           text.replace(text.find("recovers_after = \"200 ms\"\n"), 26, "");
           return figure(run_scenario(scenario_from(text, changes), Catalogs()));
         })
      .value_or(-1e9);
}

// One decodes when the prefill replica fails; two wait for its blocks and compute their prompts
// there: 200 steps for each of the three, less the first token that the prefill replica drew.
TEST(KvLoadFailure, TheDecodeReplicaComputesThePromptsThatWait) {
  for (const char* transfer : {"after_prefill", "layer_wise"}) {
    for (const char* first : {"prefill", "decode"}) {
      const std::vector<std::string> changes = {std::string("deployment.kv_transfer=") + transfer,
                                                std::string("deployment.first_token=") + first,
                                                "deployment.kv_load_failure=recompute"};
      EXPECT_EQ(of_lost_prefill(changes, recomputed), 2) << transfer << first;
      EXPECT_EQ(of_lost_prefill(changes, retries), 2);
      EXPECT_EQ(of_lost_prefill(changes, completed), 3);
      EXPECT_EQ(of_lost_prefill(changes, output_tokens), 600);
      EXPECT_EQ(of_lost_prefill(changes, prefill_steps), 3);
      EXPECT_EQ(of_lost_prefill(changes, decode_steps), 199 + 200 + 200);
    }
  }
}

// With nobody to compute the prompts again they end as failed, or never.
TEST(KvLoadFailure, FailLosesWhatOnlyThePrefillReplicaHad) {
  EXPECT_EQ(of_lost_prefill({}, completed), 1);
  EXPECT_EQ(of_lost_prefill({}, recomputed), -1);
}

TEST(KvLoadFailure, AttemptsAreLimited) {
  const std::vector<std::string> changes = {"deployment.kv_load_failure=recompute",
                                            "front_end.attempts_max=1"};
  EXPECT_EQ(of_lost_prefill(changes, recomputed), 0);
  EXPECT_EQ(of_lost_prefill(changes, failed), 2);
}

}  // namespace
}  // namespace foretoken::handoff_retry_test
