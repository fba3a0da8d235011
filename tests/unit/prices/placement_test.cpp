// Which GPUs replicas get.

#include "sim/prices/placement.hpp"

#include <gtest/gtest.h>

#include "sim/base/toml.hpp"
#include "sim/prices/scenario_prices.hpp"
#include "sim/scenario/replica_count.hpp"

namespace foretoken {
namespace {

ClusterSpec cluster_of(int nodes, int gpus) {
  ClusterSpec cluster;
  cluster.name = "test";
  cluster.nodes = nodes;
  cluster.node.gpus = gpus;
  return cluster;
}

std::vector<std::uint32_t> flat(const ReplicaPlacement& placement) {
  std::vector<std::uint32_t> ids;
  for (const auto& stage : placement.stages) {
    for (const GpuId gpu : stage) ids.push_back(gpu.value);
  }
  return ids;
}

TEST(Placement, FillsNodesInOrder) {
  const auto placed = place_replicas(cluster_of(2, 4), {.tensor = 2, .pipeline = 2}, 2, {});
  ASSERT_EQ(placed.size(), 2U);
  EXPECT_EQ(flat(placed[0]), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(flat(placed[1]), (std::vector<std::uint32_t>{4, 5, 6, 7}));
}

TEST(Placement, AGroupThatFitsANodeDoesNotStraddleTwo) {
  const auto placed = place_replicas(cluster_of(2, 6), {.tensor = 4}, 2, {});
  EXPECT_EQ(flat(placed[1]), (std::vector<std::uint32_t>{6, 7, 8, 9}));
}

TEST(Placement, ALargeGroupTakesWholeNodes) {
  const auto placed = place_replicas(cluster_of(2, 4), {.tensor = 8}, 1, {});
  EXPECT_EQ(flat(placed[0]), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  try {
    (void)place_replicas(cluster_of(3, 4), {.tensor = 6}, 1, {"a.toml", 4, 1});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "a.toml:4:1: tensor_parallel = 6 is more than a node's 4 GPUs and no multiple of "
                 "them; use 4 or 8");
  }
}

TEST(Placement, AttentionRanksOfAStageStandInARow) {
  // Three groups of 3 on nodes of 8: two a node, so the third group starts the second node.
  const ClusterSpec cluster = load_cluster("h200-sxm-8x2", {});
  const ParallelLayout layout{.tensor = 3, .data_parallel_attention = 3};
  const auto placements = place_replicas(cluster, layout, 1, {});
  ASSERT_EQ(placements[0].stages.size(), 1U);
  std::vector<std::uint32_t> gpus;
  for (const GpuId gpu : placements[0].stages[0]) gpus.push_back(gpu.value);
  EXPECT_EQ(gpus, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 8, 9, 10}));
}

// Attention's two groups of four fill a node each half; experts take the next GPUs one by one, over
// nodes if need be, before the next replica's attention.
TEST(Placement, ExpertsTakeTheGpusBehindAttentions) {
  const ParallelLayout layout = {.tensor = 2, .data_parallel_attention = 3, .expert_gpus = 3};
  const auto placed = place_replicas(cluster_of(3, 8), layout, 2, {});
  EXPECT_EQ(flat(placed[0]), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(placed[0].experts, (std::vector<GpuId>{{6}, {7}, {8}}));
  EXPECT_EQ(flat(placed[1]), (std::vector<std::uint32_t>{9, 10, 11, 12, 13, 14}));
  EXPECT_EQ(placed[1].experts, (std::vector<GpuId>{{15}, {16}, {17}}));
  EXPECT_THROW((void)place_replicas(cluster_of(1, 8), layout, 1, {}), ConfigError);
}

TEST(Placement, PoolsTakeGpusOneAfterTheOtherOnTheirOwnNodes) {
  const ClusterSpec cluster = read_cluster(parse_toml(
      "name = \"mixed\"\n[groups]\nlarge = \"h100-sxm-8x2\"\nsmall = \"l40s-4\"\n[fabric]\n"
      "kind = \"single_switch\"\nlatency = \"5 us\"",
      "mixed.toml"));
  const auto pool = [&](std::size_t group, int tensor, int replicas, bool own_nodes = false) {
    PoolSpec spec;
    spec.scenario.cluster = cluster;
    spec.scenario.deployment.node_group = group;
    spec.scenario.deployment.layout.tensor = tensor;
    spec.scenario.deployment.replicas = replicas;
    spec.scenario.deployment.own_nodes = own_nodes;
    return spec;
  };
  const auto placed = place_pools({pool(0, 2, 1), pool(1, 2, 2), pool(0, 4, 1, true)});
  EXPECT_EQ(flat(placed[0][0]), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(flat(placed[1][1]), (std::vector<std::uint32_t>{18, 19}));
  EXPECT_EQ(flat(placed[2][0]), (std::vector<std::uint32_t>{8, 9, 10, 11}));  // the second node
  EXPECT_THROW((void)place_pools({pool(0, 4, 2), pool(0, 8, 2)}), ConfigError);
  EXPECT_THROW((void)place_pools({pool(1, 4, 2)}), ConfigError);
}

// Two rooms count the same GPUs: `replicas = "auto"` must fill what placement fills, and no more.
TEST(Placement, HoldsAsManyReplicasAsAutoCounts) {
  for (const char* name : {"h200-sxm-8", "h200-sxm-8x3", "h200-sxm-6x2"}) {
    const ClusterSpec cluster = load_cluster(name, {});
    for (const int tensor : {1, 2, 3, 4, 6, 8, 12, 16, 24}) {
      for (const int pipeline : {1, 2, 3}) {
        for (const int attention : {1, 2}) {
          ParallelLayout layout;
          layout.tensor = tensor;
          layout.pipeline = pipeline;
          layout.data_parallel_attention = attention;
          const int fit = replicas_that_fit(cluster, layout);
          const auto what = fmt::format("{}, TP {} PP {} DP {}", name, tensor, pipeline, attention);
          if (fit > 0) {
            EXPECT_EQ(place_replicas(cluster, layout, fit, {}).size(), fit) << what;
          }
          EXPECT_THROW((void)place_replicas(cluster, layout, fit + 1, {}), ConfigError) << what;
        }
      }
    }
  }
}

// Each side is priced on its own GPUs: H200s read experts' weights in less time than H100s.
TEST(StepTimes, PricesExpertsOnGpusOfAnotherKind) {
  const auto step_us = [](const std::string& experts) {
    const Scenario scenario = read_scenario(parse_toml(R"([model]
name = "qwen3-30b-a3b"
[cluster]
name = "examples/clusters/h100_and_h200.toml"
[deployment]
data_parallel_attention = 2
expert_parallel = 2
expert_gpus = 2
nodes = "h200"
expert_nodes = ")" + experts + R"("
[predictor]
name = "roofline"
[workload]
arrivals = "interval"
rate = "10 /s"
requests = 1
prompt_tokens = 1000
output_tokens = 200
)",
                                                       "s.toml"),
                                            {FORETOKEN_SOURCE_DIR});
    BatchShape batch;
    batch.attention = AttentionLoad::exact(std::vector<SequenceSlice>(64, {1, 1000}), 1);
    batch.tokens = batch.logit_rows = 64;
    batch.stage_tokens = 128;
    batch.stage_tokens_max = 64;
    return step_times(scenario, predictor_catalog())(batch).front().value() * 1e6;
  };
  EXPECT_GT(step_us("h100"), 1.1 * step_us("h200"));
}

}  // namespace
}  // namespace foretoken
