// Servers on a cluster with a controller of its own: LeaderWorkerSets where they span nodes, and
// the Helm values of vLLM's production stack, written and read.
#include <gmock/gmock.h>

#include "sim/base/toml.hpp"
#include "sim/base/yaml.hpp"
#include "sim/deployments/deployment_export.hpp"
#include "tests/unit/deployments/imported.hpp"

namespace foretoken::cluster_manifests_test {
namespace {

using import_test::fate_of;
using import_test::imported;
using import_test::table;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two servers of two nodes each; `engine`: its keys.
DeploymentExport over_nodes(const std::string& engine) {
  const std::string text = R"([model]
name = "llama-3.1-405b"
[cluster]
name = "h100-sxm-8x4"
[deployment]
tensor_parallel = 8
pipeline_parallel = 2
replicas = 2
[workload]
arrivals = "all_at_once"
requests = 20
prompt_tokens = 1000
output_tokens = 100
[engine]
)" + engine;
  return export_deployment(read_scenario(parse_toml(text, "test.toml"), {".", false}));
}

constexpr const char* vllm = "preset = \"vllm-v1\"\n";
constexpr const char* manifests = "kubernetes.yaml";
constexpr const char* stack_values = "production-stack-values.yaml";

/// What is written as `file`; "" = nothing.
std::string written(const DeploymentExport& files, const std::string& file) {
  for (const ExportedFile& one : files.files)
    if (one.name == file) return one.text;
  return "";
}

TEST(ClusterManifests, ServersThatSpanNodesAreLeaderWorkerSets) {
  const std::vector<Value> documents = parse_yaml(written(over_nodes(vllm), manifests), manifests);
  ASSERT_EQ(documents.size(), 2U);
  const Value& group = *documents[0].find("spec")->find("leaderWorkerTemplate");
  EXPECT_EQ(std::get<std::int64_t>(group.find("size")->data), 2);
  const auto words = [&](const char* part) {
    const Value& spec = *group.find(part)->find("spec");
    const Value& container = std::get<ValueArray>(spec.find("containers")->data)[0];
    return to_json(*container.find("args"), -1) +
           (container.find("ports") != nullptr ? " listens" : "");
  };
  const std::string join =
      R"x("--nnodes","$(LWS_GROUP_SIZE)","--node-rank","$(LWS_WORKER_INDEX)",)x"
      R"x("--master-addr","$(LWS_LEADER_ADDRESS)")x";
  EXPECT_THAT(words("leaderTemplate"),
              EndsWith(join + R"(,"--host","0.0.0.0","--port","8000"] listens)"));
  EXPECT_THAT(words("workerTemplate"), EndsWith(join + R"(,"--headless"])"));
  // Only leaders answer.
  EXPECT_EQ(to_json(*documents[1].find("spec")->find("selector"), -1),
            R"({"app":"llm","leaderworkerset.sigs.k8s.io/worker-index":"0"})");
  const std::string sglang = written(over_nodes("preset = \"sglang\"\n"), manifests);
  EXPECT_THAT(sglang, HasSubstr("$(LWS_LEADER_ADDRESS):5000"));
  EXPECT_THAT(sglang, Not(HasSubstr("--headless")));
  EXPECT_THAT(over_nodes("preset = \"tensorrt-llm\"\n").notes,
              Contains(HasSubstr("no kubernetes.yaml: TensorRT-LLM spans nodes under MPI")));
}

TEST(ClusterManifests, TheProductionStackTakesVllmOnAnyNumberOfNodes) {
  const std::string values = written(over_nodes(vllm), stack_values);
  const Value spec = std::get<ValueArray>(
      parse_yaml(values, "values")[0].find("servingEngineSpec")->find("modelSpec")->data)[0];
  EXPECT_EQ(to_json(*spec.find("lwsSpec"), -1), R"({"enabled":true,"size":2})");
  EXPECT_EQ(std::get<std::int64_t>(spec.find("vllmConfig")->find("pipelineParallelSize")->data), 2);
  EXPECT_EQ(std::get<std::int64_t>(spec.find("requestGPU")->data), 8);
  // The chart would turn it off by itself.
  EXPECT_TRUE(std::get<bool>(spec.find("vllmConfig")->find("enablePrefixCaching")->data));
  EXPECT_THAT(written(over_nodes(std::string(vllm) + "prefix_caching = false\n"), stack_values),
              HasSubstr("enablePrefixCaching: false"));
  EXPECT_EQ(written(over_nodes("preset = \"sglang\"\n"), stack_values), "");
}

TEST(ClusterManifests, WhatSpansNodesComesBackAsItWas) {
  for (const char* file : {manifests, stack_values}) {
    const LaunchedScenario again = imported(written(over_nodes(vllm), file), "h100-sxm-8x4");
    EXPECT_EQ(table(again, "deployment"),
              R"({"tensor_parallel":8,"pipeline_parallel":2,"replicas":2})")
        << file;
    EXPECT_EQ(table(again, "model"), R"({"name":"llama-3.1-405b"})") << file;
    EXPECT_TRUE(again.notes.empty()) << file << ": " << again.notes.front();
  }
}

/// Values of the production stack with a model of `keys`.
std::string stack(const std::string& keys) {
  return "servingEngineSpec:\n  modelSpec:\n  - name: m\n    repository: vllm/vllm-openai\n"
         "    tag: v0.19.0\n    modelURL: Qwen/Qwen3-8B\n    requestGPU: 1\n" +
         keys;
}

TEST(ClusterManifests, TheProductionStackAddsFlagsOfItsOwn) {
  const LaunchedScenario plain = imported(stack("    replicaCount: 3\n"));
  EXPECT_EQ(table(plain, "engine"), R"({"preset":"vllm-v1"})");
  EXPECT_THAT(table(plain, "deployment"), HasSubstr(R"("replicas":3)"));
  EXPECT_TRUE(plain.notes.empty());
  const LaunchedScenario tuned =
      imported(stack("    enableLoRA: true\n    vllmConfig:\n      enableChunkedPrefill: false\n"
                     "      maxNumSeqs: \"32\"\n      tensorParallelSize: 2\n"
                     "      extraArgs: [\"--max-lora-rank\", \"32\", \"--max-num-seqs=48\"]\n"));
  EXPECT_EQ(fate_of(tuned, "--no-enable-prefix-caching"), FlagFate::set);
  EXPECT_THAT(table(tuned, "engine"), HasSubstr(R"("sequences_max":48)"));
  EXPECT_THAT(table(tuned, "engine"), HasSubstr(R"("prefix_caching":false)"));
  EXPECT_THAT(table(tuned, "engine"), HasSubstr(R"("chunked_prefill":false)"));
  EXPECT_THAT(table(tuned, "engine"), HasSubstr(R"("lora")"));
  EXPECT_THAT(tuned.notes, Contains(HasSubstr("m: the chart turns prefix caching off")));
  EXPECT_THAT(tuned.notes, Contains(HasSubstr("m is given 1 GPUs, but its flags use 2")));
}

TEST(ClusterManifests, TheProductionStackSpansNodes) {
  // A worker set has a stage on each node unless it says otherwise; a Ray cluster a head more.
  const LaunchedScenario group = imported(
      stack("    replicaCount: 2\n    lwsSpec: { enabled: true, size: 2 }\n"), "h100-sxm-1x4");
  EXPECT_EQ(table(group, "deployment"),
            R"({"tensor_parallel":1,"pipeline_parallel":2,"replicas":2})");
  const LaunchedScenario ray =
      imported(stack("    replicaCount: 1\n    raySpec: { headNode: { requestGPU: 1 } }\n"
                     "    vllmConfig: { enablePrefixCaching: true, pipelineParallelSize: 2 }\n"),
               "h100-sxm-1x2");
  EXPECT_EQ(table(ray, "deployment"),
            R"({"tensor_parallel":1,"pipeline_parallel":2,"replicas":1})");
  EXPECT_TRUE(ray.notes.empty());
}

}  // namespace
}  // namespace foretoken::cluster_manifests_test
