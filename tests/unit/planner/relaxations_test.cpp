#include "sim/planner/relaxations.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

Scenario scenario_from(const std::vector<std::string>& overrides) {
  Value root = parse_toml(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[workload]
arrivals = "poisson"
rate = "1 /s"
requests = 1
prompt_tokens = 10
output_tokens = 2
)",
                          "scenario.toml");
  apply_changes(root, parse_changes(overrides));
  return read_scenario(root, {"."});
}

std::vector<std::string> set_by(const std::vector<RelaxedRun>& runs, const std::string& what) {
  for (const RelaxedRun& run : runs) {
    if (run.what == what) return texts_of(run.changes);
  }
  return {"not among them"};
}

TEST(Relaxations, OneGpuHasNoLinksToRelax) {
  const auto runs = relaxations(scenario_from({}), {1000});
  EXPECT_THAT(set_by(runs, "25 % more DRAM bandwidth"),
              ElementsAre("cluster.scale.dram_bandwidth=1.25"));
  EXPECT_THAT(set_by(runs, "twice the KV memory"), ElementsAre("engine.kv_blocks=2000"));
  EXPECT_THAT(set_by(runs, "25 % faster NVLink"), ElementsAre("not among them"));
  EXPECT_THAT(set_by(runs, "no CPU time"), ElementsAre("not among them"));
  EXPECT_THAT(set_by(runs, "prefix caching"), ElementsAre("not among them"));
}

TEST(Relaxations, OneMoreReplicaGetsGpusWhereThereAreNone) {
  const auto sets = [](const std::vector<std::string>& overrides) {
    return set_by(relaxations(scenario_from(overrides), {1000}), "one more replica");
  };
  EXPECT_THAT(sets({}), ElementsAre("deployment.replicas=2", "cluster.name=h200-sxm-2"));
  EXPECT_THAT(sets({"cluster.name=h200-sxm-4"}), ElementsAre("deployment.replicas=2"));
  EXPECT_THAT(sets({"cluster.name=h200-sxm-8", "deployment.tensor_parallel=8"}),
              ElementsAre("deployment.replicas=2", "cluster.name=h200-sxm-8x2"));
}

TEST(Relaxations, FollowTheScenario) {
  const auto runs =
      relaxations(scenario_from({"cluster.name=h200-sxm-2", "deployment.tensor_parallel=2",
                                 "cluster.scale.dram_bandwidth=2", "engine.host_step='1 ms'",
                                 "engine.prefix_caching=false", "engine.batch_tokens_max=300",
                                 "engine.sequences_max=256"}),
                  {1000});
  EXPECT_THAT(set_by(runs, "25 % more DRAM bandwidth"),
              ElementsAre("cluster.scale.dram_bandwidth=2.5"));
  EXPECT_THAT(set_by(runs, "25 % faster NVLink"),
              ElementsAre("cluster.scale.nvlink_bandwidth=1.25"));
  EXPECT_THAT(set_by(runs, "no CPU time"), Contains("engine.host_time=0 s"));
  EXPECT_THAT(set_by(runs, "prefix caching"), ElementsAre("engine.prefix_caching=true"));
  EXPECT_THAT(set_by(runs, "twice the sequences per step (512)"),
              ElementsAre("engine.sequences_max=512", "engine.batch_tokens_max=512"));
  for (const RelaxedRun& run : runs) EXPECT_THAT(run.what, Not("half the step token budget (150)"));
  for (const RelaxedRun& run : runs) {  // each can be loaded as it stands
    std::vector<std::string> all = {"cluster.name=h200-sxm-2", "deployment.tensor_parallel=2",
                                    "engine.host_step='1 ms'", "engine.batch_tokens_max=300"};
    std::ranges::copy(texts_of(run.changes), std::back_inserter(all));
    EXPECT_NO_THROW(scenario_from(all)) << run.what;
  }
}

TEST(Relaxations, NameEachKindOfLink) {
  const auto names = [](const std::string& cluster) {
    std::vector<std::string> all;
    for (const RelaxedRun& run : relaxations(
             scenario_from({"cluster.name=" + cluster, "deployment.tensor_parallel=4"}), {1000}))
      all.push_back(run.what);
    return all;
  };
  const auto tree = names(FORETOKEN_SOURCE_DIR "/examples/clusters/pcie_switches.toml");
  for (const char* what :
       {"25 % faster PCIe", "25 % faster PCIe switches", "25 % faster links between sockets"})
    EXPECT_THAT(tree, Contains(what));
  EXPECT_THAT(names("h200-sxm-8"), Not(Contains("25 % faster host bridges")));
}

TEST(Relaxations, AreRankedWhateverTheOrderInWhichTheyEnd) {
  LatencyExplanation explanation;
  explanation.value_ms = 20;
  explanation.relaxed = {{"d", {}, 5}, {"c", {}, {}, "does not fit"}, {"b", {}, 25}, {"a", {}, 35}};
  std::ranges::reverse(explanation.relaxed);
  rank_by_gain(explanation);
  std::vector<std::string> order;
  for (const RelaxedRun& run : explanation.relaxed) order.push_back(run.what);
  EXPECT_THAT(order, ElementsAre("d", "b", "a", "c"));
  EXPECT_DOUBLE_EQ(explanation.gain(*explanation.relaxed.front().value_ms), 0.75);
  EXPECT_EQ(explanation.relaxed.back().message, "does not fit");
}

}  // namespace
}  // namespace foretoken
