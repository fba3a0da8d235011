// Whatever clients, failures and the autoscaler do, under every router and layout: each request
// ends exactly once, tokens that a client got are counted once, and the same seed gives the same
// run.

#include <gtest/gtest.h>

#include "tests/properties/lifecycle_laws.hpp"

namespace foretoken::lifecycle_test {
namespace {

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

/// Of every policy; keda may send all replicas to sleep.
std::string random_autoscaler(RandomCase& pick, int most) {
  const char* policy = pick.one_of({"cooldown", "hpa", "keda", "planner"});
  std::string text =
      fmt::format("[autoscaler]\npolicy = \"{}\"\nmin = {}\nmax = {}\ninterval = \"{} ms\"\n",
                  policy, policy == std::string("keda") ? 0 : 1, most, 20 + pick.below(200));
  if (policy == std::string("planner")) {
    return text + fmt::format("capacity = \"{} /s\"\nprediction = \"{}\"\n",
                              pick.one_of({300, 4000}), pick.one_of({"constant", "trend"}));
  }
  const bool may_sleep = policy == std::string("keda");  // and has to see who waits
  text += fmt::format("metric = \"{}\"\ntarget = {}\n",
                      may_sleep ? pick.one_of({"queue", "outstanding"})
                                : pick.one_of({"queue", "outstanding", "utilization", "kv"}),
                      pick.one_of({0.05, 0.3, 0.9}));
  if (policy == std::string("cooldown")) {
    return text +
           fmt::format("cooldown_up = \"0 s\"\ncooldown_down = \"{} ms\"\n", pick.below(500));
  }
  text += fmt::format("window_down = \"{} ms\"\n", pick.below(500));
  if (policy == std::string("hpa")) return text;
  return text + fmt::format("polling_interval = \"{} ms\"\ncooldown = \"{} ms\"\n",
                            20 + pick.below(200), pick.below(400));
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
{}status_interval = "{} ms"
[startup]
time = "{} ms"
is_cold = {}
)",
      most, tensor, pipeline, replicas,
      pick.one_of({"round_robin", "least_outstanding", "kv_load", "power_of_two", "prefix_affinity",
                   "scored", "sticky"}),
      pick.one_of({"vllm_v1", "orca", "sarathi", "sglang", "tensorrt_llm", "static",
                   "shortest_job_first", "priority", "vtc"}),
      pick.one_of({48, 200, 1024}), pick.chance(50) ? 300 : 2000, 1 + pick.below(4),
      pick.below(2) * 50, random_gateway(pick), pick.below(2) * 100, pick.below(3) * 200,
      pick.chance(25) ? "true" : "false");
  if (is_scaled) text += random_autoscaler(pick, most);
  text += random_failures(pick, gpus, is_scaled ? most : replicas);
  text += random_traffic(pick);
  if (pick.chance(20)) text += fmt::format("[run]\nhorizon = \"{} ms\"\n", 100 + pick.below(2000));
  return text;
}

TEST(LifecycleProperties, TheSameSeedGivesTheSameRun) {
  expect_same_seed_same_run(random_scenario, 20);
}

TEST(LifecycleProperties, EveryRequestEndsExactlyOnceInEveryWayThereIs) {
  // Counts packed into one number: each way's share of the runs is only asked to be there.
  std::set<int> ways;
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
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
    ASSERT_TRUE(result.has_value()) << "seed " << seed << text;
    for (int i = 0; i < 7; ++i) {
      if ((static_cast<int>(*result) >> i & 1) != 0) ways.insert(i);
    }
  }
  EXPECT_EQ(ways.size(), 7U);
}

}  // namespace
}  // namespace foretoken::lifecycle_test
