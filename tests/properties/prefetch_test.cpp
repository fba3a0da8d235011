// Prefixes that come from a store before it is their requests' turn: nothing is lost in any tier,
// also where clients leave and replicas fail while they come, and a request that has to queue
// anyway gets its first token no later.

#include <gtest/gtest.h>

#include "tests/properties/forked_run.hpp"

namespace foretoken {
namespace {

constexpr const char* conversations = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-2"
[deployment]
replicas = 2
router = "round_robin"
[engine]
kv_blocks = 1200
host_kv = "4 GiB"
[engine.kv_store]
capacity = "100 GB"
bandwidth = "4 GB/s"
latency = "2 ms"
shared = true
writes = "computed"
[predictor]
name = "roofline"
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 300
prompt_tokens = { distribution = "uniform", min = 20, max = 900 }
output_tokens = { distribution = "uniform", min = 1, max = 60 }
[workload.sessions]
turns = { distribution = "uniform", min = 1, max = 8 }
think_time = { distribution = "exponential", mean = "1 s" }
[workload.system_prompts]
count = 3
tokens = 700
)";

class Prefetch : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Prefetch, testing::Values("none", "best_effort", "wait", "timeout"));

TEST_P(Prefetch, NothingIsLostAndHitsAreCountedOnce) {
  std::vector<std::string> changes = {std::string("engine.kv_store.prefetch=") + GetParam(),
                                      "workload.cancellations={share=0.1,after='40 ms'}",
                                      "failures=[{at='10 s',replica=0,recovers_after='1 s'},"
                                      "{at='20 s',replica=1,recovers_after='100 ms'},"
                                      "{at='20.3 s',replica=1,recovers_after='100 ms'}]"};
  if (GetParam() == std::string("timeout")) {
    changes.emplace_back("engine.kv_store.prefetch_timeout='3 ms'");
  }
  const Report report = run_scenario(scenario_from(conversations, changes), Catalogs());
  std::int64_t ended = 0;
  for (const RequestRow& row : report.rows) {
    ended += row.status == "completed" || row.status == "cancelled" ? 1 : 0;
  }
  EXPECT_EQ(ended, std::ssize(report.rows));
  EXPECT_GT(report.requests.retries, 0);
  const double found = *report.kv.prefix_hit_rate;
  const double of_host = report.kv.host_hit_rate.value_or(0);
  const double of_store = report.kv.store_hit_rate.value_or(0);
  if (GetParam() != std::string("best_effort")) {  // nobody waits here: little comes in time
    EXPECT_GT(of_store, 0.0);
  }
  EXPECT_LE(of_host + of_store, found + 1e-12);
  EXPECT_LE(found, 1.0);
}

// Prompts of 6,016 shared tokens: 376 blocks of 2 MiB, 0.79 GB, which take 79 ms to read. What
// either replica computes the other reads once from the store. Both run one request at a time and
// have a queue, so that what is read from the arrival on is there when its turn comes; else its
// step reads it.
constexpr const char* queued = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-2"
[deployment]
replicas = 2
router = "round_robin"
[engine]
sequences_max = 1
kv_blocks = 1600
host_kv = "16 GiB"
host_copies = "before"
[engine.kv_store]
capacity = "100 GB"
bandwidth = "10 GB/s"
shared = true
writes = "computed"
[predictor]
name = "roofline"
[workload]
arrivals = "interval"
rate = "24 /s"
requests = 60
prompt_tokens = 40
output_tokens = 20
[workload.system_prompts]
count = 12
tokens = 6016
)";

double mean_ttft(const std::string& policy) {
  const auto run = [&] {
    const Report report =
        run_scenario(scenario_from(queued, {"engine.kv_store.prefetch=" + policy}), Catalogs());
    FORETOKEN_CHECK(report.requests.completed == 60, "{} completed", report.requests.completed);
    return report.ttft_ms.mean;
  };
  return in_child(run).value();
}

TEST(PrefetchOrder, WhoQueuesAnywayIsNoLaterThanWithout) {
  const double without = mean_ttft("none");
  const double waiting = mean_ttft("wait");
  EXPECT_LT(waiting, without);
  EXPECT_DOUBLE_EQ(mean_ttft("timeout"), waiting);  // of a second, which nothing takes
  EXPECT_LT(mean_ttft("best_effort"), without);
}

}  // namespace
}  // namespace foretoken
