// [pool.NAME] tables: what they take over, what they have for themselves, how many fit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/change.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken::pools_test {
namespace {

using testing::HasSubstr;

constexpr const char* two_pools = R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-8x2"
[deployment]
kv_transfer = "layer_wise"
decode_router = { name = "least_outstanding" }
[engine]
sequences_max = 64
batch_tokens_max = 2048
[pool.front]
role = "prefill"
tensor_parallel = 2
[pool.back]
role = "decode"
tensor_parallel = 4
replicas = 2
engine = { sequences_max = 512 }
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 10
prompt_tokens = 100
output_tokens = 10
)";

Scenario read(const std::vector<std::string>& overrides = {}) {
  Value root = parse_toml(two_pools, "s.toml");
  apply_changes(root, parse_changes(overrides));
  return read_scenario(root, {"."});
}

std::string error_of(const std::vector<std::string>& overrides) {
  try {
    (void)read(overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Pools, HaveTheirOwnLayoutAndEngineOverTheCommonOne) {
  const Scenario scenario = read({"pool.back.engine.block_tokens=32"});
  ASSERT_EQ(scenario.pools.size(), 2U);
  const PoolSpec& front = scenario.pools[0];
  const PoolSpec& back = scenario.pools[1];
  EXPECT_EQ(front.name, "front");
  EXPECT_EQ(front.role, PoolRole::prefill);
  EXPECT_EQ(front.scenario.deployment.layout.tensor, 2);
  EXPECT_EQ(front.scenario.engine.sequences_max, 64);
  EXPECT_EQ(back.scenario.deployment.layout.tensor, 4);
  EXPECT_EQ(back.scenario.deployment.replicas, 2);
  EXPECT_EQ(back.scenario.engine.sequences_max, 512);
  EXPECT_EQ(back.scenario.engine.batch_tokens_max, 2048);
  EXPECT_EQ(back.scenario.engine.block_tokens, 32);
  EXPECT_EQ(back.scenario.execution.block_tokens, 32);
  EXPECT_EQ(front.scenario.deployment.handoff.kv_transfer, KvTransfer::layer_wise);
  EXPECT_EQ(scenario.deployment.decode_router.name, "least_outstanding");
  EXPECT_TRUE(hands_over(scenario));
}

TEST(Pools, ResolveToTheSameScenario) {
  const std::string once = to_toml(resolved_scenario(read()));
  const Scenario again = read_scenario(parse_toml(once, "once.toml"), {"."});
  EXPECT_EQ(to_toml(resolved_scenario(again)), once);
  EXPECT_EQ(again.pools[1].scenario.engine.sequences_max, 512);
}

TEST(Pools, ShareNodesAndFillWhatIsLeft) {
  // back takes 2 x 4 of 16 GPUs.
  EXPECT_EQ(read({"pool.front.replicas=auto"}).pools[0].scenario.deployment.replicas, 4);
  // On nodes of its own it has one.
  EXPECT_EQ(read({"pool.front.replicas=auto", "pool.back.replicas=1", "pool.back.own_nodes=true"})
                .pools[0]
                .scenario.deployment.replicas,
            4);
  EXPECT_THAT(error_of({"pool.front.replicas=auto", "pool.back.replicas=auto"}),
              HasSubstr("is \"auto\", and so is another pool's on the same nodes"));
  EXPECT_THAT(error_of({"pool.front.replicas=5"}), HasSubstr("the pools need 18 GPUs (front 10, "
                                                             "back 8)"));
}

TEST(Pools, NeedSomebodyOnTheOtherSide) {
  EXPECT_THAT(error_of({"pool.back.role=prefill"}), HasSubstr("no pool decodes"));
  EXPECT_THAT(error_of({"pool.front.role=decode"}), HasSubstr("no pool computes prompts"));
  EXPECT_THAT(error_of({"pool.front.role=both"}), HasSubstr("\"both\" serves whole requests"));
  EXPECT_FALSE(hands_over(read({"pool.front.role=both", "pool.back.role=both"})));
}

TEST(Pools, ReportEachMistakeOnce) {
  const std::string message = error_of({"engine.sequences_max=0"});
  EXPECT_THAT(message, HasSubstr("must be at least 1"));
  EXPECT_EQ(message.find("engine.sequences_max: must"),
            message.rfind("engine.sequences_max: must"));
  EXPECT_THAT(error_of({"deployment.replicas=2"}), HasSubstr("write it in [pool.NAME]"));
  EXPECT_THAT(error_of({"pool.front.nodes=x"}), HasSubstr("is for clusters with node groups"));
}

constexpr const char* changing = R"(
[pool.back.autoscaler]
max = 3
metric = "queue"
target = 4
[startup]
time = "20 s"
[[failures]]
at = "5 s"
replica = 2
pool = "back"
[[failures]]
at = "6 s"
gpu = 9
recovers_after = "1 min"
)";

Scenario read_changing(const std::string& more = "") {
  return read_scenario(parse_toml(two_pools + std::string(changing) + more, "s.toml"), {"."});
}

TEST(Pools, ScaleByThemselvesAndFailByName) {
  const Scenario scenario = read_changing();
  EXPECT_TRUE(has_fleet_changes(scenario));
  EXPECT_FALSE(has_fleet_changes(read()));
  EXPECT_FALSE(scenario.pools[0].scenario.autoscaler.has_value());
  EXPECT_EQ(replicas_max(scenario.pools[0].scenario), 1);
  EXPECT_EQ(replicas_max(scenario.pools[1].scenario), 3);
  EXPECT_EQ(scenario.pools[1].scenario.deployment.replicas, 2);
  EXPECT_EQ(scenario.failures[0].pool, "back");
  EXPECT_EQ(scenario.failures[1].part, FailingPart::gpu);
  const std::string once = to_toml(resolved_scenario(scenario));
  const Scenario again = read_scenario(parse_toml(once, "once.toml"), {"."});
  EXPECT_EQ(to_toml(resolved_scenario(again)), once);
  EXPECT_EQ(again.failures[0].pool, "back");
  EXPECT_EQ(again.pools[1].scenario.autoscaler->max, 3);
}

TEST(Pools, HaveRoomForAllThatMayStart) {
  // back may take 3 x 4 of 16 GPUs, which leaves 2 x 2.
  Value root = parse_toml(two_pools + std::string(changing), "s.toml");
  apply_changes(root, {Change::parse("pool.front.replicas=auto")});
  EXPECT_EQ(read_scenario(root, {"."}).pools[0].scenario.deployment.replicas, 2);
  apply_changes(root, {Change::parse("pool.front.replicas=3")});
  EXPECT_THROW(
      {
        try {
          (void)read_scenario(root, {"."});
        } catch (const ConfigError& error) {
          EXPECT_THAT(error.what(), HasSubstr("the pools need 18 GPUs (front 6, back 12)"));
          throw;
        }
      },
      ConfigError);
}

TEST(Pools, SayWhichReplicaCannotFail) {
  try {
    (void)read_changing("[[failures]]\nat = \"1 s\"\nreplica = 1\npool = \"front\"\n");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("replica 1 of pool front cannot fail: there are 1, counted from 0 to 0"));
  }
}

TEST(Pools, StandOnTheNodesTheyName) {
  const std::string cluster =
      std::string("cluster.name=") + FORETOKEN_SOURCE_DIR "/examples/clusters/h100_and_h200.toml";
  const Scenario scenario = read({cluster, "pool.front.nodes=h100", "pool.back.nodes=h200"});
  EXPECT_EQ(scenario.pools[0].scenario.cluster.gpu.name, "h100-sxm");
  EXPECT_EQ(scenario.pools[1].scenario.cluster.gpu.name, "h200-sxm");
  EXPECT_EQ(scenario.pools[1].scenario.deployment.node_group, 1U);
  EXPECT_THAT(error_of({cluster, "pool.front.nodes=h100"}),
              HasSubstr("pool.back.nodes: is missing"));
  EXPECT_THAT(
      error_of({cluster, "pool.front.nodes=h100", "pool.back.nodes=h200", "pool.back.replicas=3"}),
      HasSubstr("group 'h200' of cluster 'h100-and-h200' has 8"));
}

}  // namespace
}  // namespace foretoken::pools_test
