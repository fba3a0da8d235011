// Pools that scale, fail and come back, with drafts and with KV blocks in host memory, whatever
// clients do meanwhile: each request ends exactly once, KV blocks are all given back (a run checks
// it at its end), and the same seed gives the same run.

#include <gtest/gtest.h>

#include "tests/properties/lifecycle_laws.hpp"

namespace foretoken::pool_lifecycle_test {
namespace {

struct PoolShape {
  std::string name, role;
  int tensor, pipeline, replicas, most;
};

std::string random_pool(RandomCase& pick, const PoolShape& shape) {
  std::string text = fmt::format(
      "[pool.{}]\nrole = \"{}\"\ntensor_parallel = {}\npipeline_parallel = {}\nreplicas = {}\n",
      shape.name, shape.role, shape.tensor, shape.pipeline, shape.replicas);
  text += fmt::format("[pool.{}.engine]\nscheduler = \"{}\"\nkv_blocks = {}\n", shape.name,
                      pick.one_of({"vllm_v1", "orca", "sarathi", "sglang", "tensorrt_llm", "static",
                                   "shortest_job_first", "priority", "vtc"}),
                      pick.one_of({36, 60, 300}));  // the longest request takes 34
  if (pick.chance(40)) {
    text += fmt::format("host_kv = \"{} GiB\"\npreemption = \"{}\"\n", 1 + pick.below(3),
                        pick.one_of({"swap", "recompute"}));
  }
  if (pick.chance(40)) {
    text += fmt::format(
        "[pool.{}.engine.speculative]\nmethod = \"{}\"\ndrafts = {}\nacceptance = {}\n", shape.name,
        pick.one_of({"ngram", "eagle"}), 1 + pick.below(4), pick.one_of({0.0, 0.6, 1.0}));
  }
  if (shape.most > shape.replicas) {
    text += fmt::format(
        "[pool.{}.autoscaler]\nmin = 1\nmax = {}\nmetric = \"{}\"\ntarget = {}\n"
        "interval = \"{} ms\"\ncooldown_up = \"0 s\"\ncooldown_down = \"{} ms\"\n",
        shape.name, shape.most, pick.one_of({"queue", "outstanding", "utilization", "kv"}),
        pick.one_of({0.05, 0.3, 0.9}), 20 + pick.below(200), pick.below(500));
  }
  return text;
}

std::string random_failures(RandomCase& pick, int nodes, const std::vector<PoolShape>& pools) {
  std::string text;
  for (std::uint32_t i = pick.below(6); i > 0; --i) {
    text += fmt::format("[[failures]]\nat = \"{} ms\"\n", pick.below(2500));
    const PoolShape& pool = pools[pick.below(static_cast<std::uint32_t>(pools.size()))];
    switch (pick.below(3)) {
      case 0:
        text += fmt::format("replica = {}\npool = \"{}\"\n",
                            pick.below(static_cast<std::uint32_t>(pool.most)), pool.name);
        break;
      case 1:
        text += fmt::format("gpu = {}\n", pick.below(static_cast<std::uint32_t>(nodes * 8)));
        break;
      default:
        text += fmt::format("node = {}\n", pick.below(static_cast<std::uint32_t>(nodes)));
    }
    if (pick.chance(75)) text += fmt::format("recovers_after = \"{} ms\"\n", pick.below(1200));
  }
  return text;
}

std::string random_scenario(std::uint32_t seed) {
  RandomCase pick(seed);
  const bool hands_over = pick.chance(80);
  std::vector<PoolShape> pools;
  int gpus = 0;
  const std::uint32_t kinds = hands_over ? 2 + pick.below(2) : 2;
  for (std::uint32_t i = 0; i < kinds; ++i) {
    const int replicas = static_cast<int>(1 + pick.below(3));
    const char* role = !hands_over ? "both" : i == 0 ? "prefill" : i == 1 ? "decode" : nullptr;
    if (role == nullptr) role = pick.one_of({"prefill", "decode"});
    pools.push_back({fmt::format("p{}", i), role, pick.one_of({1, 2}), pick.one_of({1, 1, 2}),
                     replicas, replicas + static_cast<int>(pick.below(3))});
    gpus += pools.back().tensor * pools.back().pipeline * pools.back().most;
  }
  const int nodes = (gpus + 7) / 8 + 1;
  std::string text = fmt::format(
      R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8x{}"
[deployment]
{}
[engine]
batch_tokens_max = {}
sequences_max = {}
host_time = "2 ms"
[predictor]
name = "roofline"
[front_end]
attempts_max = {}
retry_delay = "{} ms"
{}[startup]
time = "{} ms"
is_cold = {}
)",
      nodes,
      hands_over ? fmt::format("kv_transfer = \"{}\"\nfirst_token = \"{}\"\nprefill_router = "
                               "\"{}\"\ndecode_router = \"{}\"\nretry = \"{}\"",
                               pick.one_of({"after_prefill", "layer_wise"}),
                               pick.one_of({"prefill", "decode"}),
                               pick.one_of({"round_robin", "prefix_affinity", "scored", "sticky"}),
                               pick.one_of({"least_outstanding", "kv_load", "power_of_two"}),
                               pick.one_of({"whole", "failed_side"}))
                 : "router = \"least_outstanding\"",
      pick.one_of({200, 1024}), pick.one_of({4, 32}), 1 + pick.below(4), pick.below(2) * 50,
      pick.chance(60) ? "" : random_gateway(pick), pick.below(3) * 200,
      pick.chance(25) ? "true" : "false");
  for (const PoolShape& pool : pools) text += random_pool(pick, pool);
  text += random_failures(pick, nodes, pools);
  text += random_traffic(pick);
  if (pick.chance(15)) text += fmt::format("[run]\nhorizon = \"{} ms\"\n", 100 + pick.below(2000));
  return text;
}

TEST(PoolLifecycleProperties, EveryRequestEndsExactlyOnce) {
  expect_laws_hold(random_scenario, 1, 70);
}

TEST(PoolLifecycleProperties, EveryRequestOfManyEndsExactlyOnce) {
  expect_laws_hold(random_scenario, 71, 250);
}

TEST(PoolLifecycleProperties, TheSameSeedGivesTheSameRun) {
  expect_same_seed_same_run(random_scenario, 20);
}

}  // namespace
}  // namespace foretoken::pool_lifecycle_test
