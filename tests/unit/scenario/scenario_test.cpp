// Scenarios from text: defaults, overrides, the resolved form, and messages.

#include "sim/scenario/scenario.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/own_folder.hpp"
#include "tests/unit/scenario/scenario_text.hpp"

namespace foretoken::scenario_test {
namespace {

using scenario_text::error_of;
using scenario_text::minimal;
using scenario_text::read;

// No router deals tokens out evenly; a dense model has nothing to route.
TEST(Scenario, ExpertsAreRoutedUnevenlyUnlessAsked) {
  const Scenario usual = read(minimal, {"model.name=mixtral-8x7b"});
  EXPECT_EQ(routing_text(usual.execution.routing), "popularity:30");
  const Scenario even = read(minimal, {"model.name=mixtral-8x7b", "model.expert_routing=balanced"});
  EXPECT_EQ(routing_text(even.execution.routing), "balanced");
  EXPECT_EQ(read(minimal, {}).execution.routing, Routing());
}

TEST(Scenario, DrawsRoutingsFromTheRunsSeed) {
  const std::string text = std::string(minimal) + "[run]\nseed = 42\n";
  const Scenario scenario =
      read(text, {"model.name=mixtral-8x7b", "model.expert_routing=balancedness:0.6+-0.05"});
  EXPECT_EQ(scenario.execution.routing_draw.each.size(), 32U);
  EXPECT_EQ(scenario.execution.routing_draw.seed, 42U);
  EXPECT_NEAR(scenario.execution.routing.parameter, 0.6, 1e-9);
  EXPECT_NE(
      to_toml(resolved_scenario(scenario)).find("expert_routing = \"balancedness:0.6+-0.05\""),
      std::string::npos);
  const Scenario single =
      read(minimal, {"model.name=mixtral-8x7b", "model.expert_routing=balancedness:0.6"});
  EXPECT_TRUE(single.execution.routing_draw.each.empty());
  EXPECT_EQ(
      error_of(minimal, {"model.name=mixtral-8x7b", "model.expert_routing=balancedness:2+-1"}),
      "--set model.expert_routing=balancedness:2+-1: routing 'balancedness:2+-1': mean and "
      "deviation of the "
      "balancedness must be above 0 and at most 1, for example \"balancedness:0.55+-0.06\"");
}

TEST(Scenario, FillsInDefaults) {
  const Scenario scenario = read(minimal);
  EXPECT_EQ(scenario.model.layers, 32);
  EXPECT_EQ(scenario.cluster.gpu_count(), 8);
  EXPECT_EQ(scenario.execution.dtype, DType::bf16);
  EXPECT_EQ(scenario.deployment.router.name, "round_robin");
  EXPECT_EQ(scenario.engine.batch_tokens_max, 8192);
  EXPECT_EQ(scenario.engine.sequences_max, 256);
  EXPECT_EQ(scenario.engine.block_tokens, 16);
  EXPECT_DOUBLE_EQ(scenario.engine.memory_utilization, 0.9);
  EXPECT_FALSE(scenario.slo.ttft.has_value());
  EXPECT_EQ(scenario.run.seed, 1U);
}

TEST(Scenario, ChoosesWhoPricesCommunication) {
  EXPECT_EQ(read(minimal).communication, CommSource::model);
  const Scenario measured =
      read(minimal, {"predictor.communication=measured", "predictor.communication_fallback=model"});
  EXPECT_EQ(measured.communication, CommSource::measured);
  EXPECT_EQ(measured.communication_fallback, CommFallback::model);
  const Scenario again = read(to_toml(resolved_scenario(measured)));
  EXPECT_EQ(again.communication, CommSource::measured);
  EXPECT_EQ(again.communication_fallback, CommFallback::model);
  EXPECT_NE(error_of(minimal, {"predictor.communication=measurd"}).find("did you mean 'measured'?"),
            std::string::npos);
  EXPECT_NE(error_of(minimal, {"predictor.communication_fallback=model"})
                .find("belongs to communication = \"measured\""),
            std::string::npos);
}

TEST(Scenario, NamesMicroBatchesAndNcclProtocol) {
  const Scenario scenario = read(minimal);
  EXPECT_EQ(scenario.deployment.micro_batches, 0);
  EXPECT_EQ(scenario.deployment.nccl_protocol, NcclProtocol::automatic);
  const Scenario named =
      read(minimal, {"deployment.pipeline_parallel=2", "deployment.micro_batches=3",
                     "deployment.nccl_protocol=ll128"});
  const Scenario again = read(to_toml(resolved_scenario(named)));
  EXPECT_EQ(again.deployment.micro_batches, 3);
  EXPECT_EQ(again.deployment.nccl_protocol, NcclProtocol::ll128);
  EXPECT_NE(error_of(minimal, {"deployment.micro_batches=3"}).find("set pipeline_parallel"),
            std::string::npos);
  EXPECT_NE(error_of(minimal, {"deployment.nccl_protocol=simpel"}).find("did you mean 'simple'?"),
            std::string::npos);
}

TEST(Scenario, OverridesWinAndKeepTheirPlaceForMessages) {
  const Scenario scenario =
      read(minimal, {"deployment.tensor_parallel=4", "model.dtype=fp8", "slo.ttft=200 ms"});
  EXPECT_EQ(scenario.deployment.layout.tensor, 4);
  EXPECT_EQ(scenario.execution.dtype, DType::fp8);
  EXPECT_EQ(scenario.execution.kv_dtype, DType::bf16);
  EXPECT_DOUBLE_EQ(scenario.slo.ttft->value(), 0.2);
  EXPECT_EQ(error_of(minimal, {"engine.block_tokens=-1"}),
            "--set engine.block_tokens=-1: engine.block_tokens: must be at least 1, not -1");
}

TEST(Scenario, TheResolvedFormReadsBackToItself) {
  const Scenario scenario = read(minimal, {"slo.tpot=33.3 ms", "run.warmup=1 s", "run.horizon=1 h",
                                           "engine.host_time=123 us"});
  const std::string once = to_toml(resolved_scenario(scenario));
  const std::string twice = to_toml(resolved_scenario(read(once)));
  EXPECT_EQ(once, twice);
  EXPECT_NE(once.find("batch_tokens_max = 8192"), std::string::npos);
}

TEST(Scenario, ClassesOfRequestsHaveTargetsOfTheirOwn) {
  const std::string text = std::string(minimal) +
                           "[slo]\nttft = \"2 s\"\n"
                           "[[slo.classes]]\npriority = 0\nttft = \"300 ms\"\n"
                           "[[slo.classes]]\npriority = 3\ne2e = \"60 s\"\n";
  const Scenario scenario = read(text);
  EXPECT_EQ(scenario.slo.of(0).ttft, Seconds(0.3));
  EXPECT_EQ(scenario.slo.of(3).ttft, Seconds(2.0));
  EXPECT_EQ(scenario.slo.of(3).e2e, Seconds(60.0));
  EXPECT_EQ(read(to_toml(resolved_scenario(scenario))).slo.of(3).e2e, Seconds(60.0));
  EXPECT_NE(error_of(text + "[[slo.classes]]\npriority = 0\n").find("0 is given twice"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(minimal) + "[slo]\nclasses = [1]\n")
                .find("slo.classes: holds an integer; write a list of classes"),
            std::string::npos);
}

TEST(Scenario, ReportsEveryMistakeInOrderOfTheFile) {
  EXPECT_EQ(error_of(std::string(minimal) + "[engine]\nmemory_utilization = 2\nsequences_max = 0\n"
                                            "[slo]\npercentile = 101\n[runn]\n"),
            "s.toml:12:1: engine.memory_utilization: is a share of the GPU's memory: above 0, at "
            "most 1\n"
            "s.toml:13:1: engine.sequences_max: must be at least 1, not 0\n"
            "s.toml:15:1: slo.percentile: is in per cent of the requests: from 1 to 100, as 99\n"
            "s.toml:16:2: unknown table 'runn'; did you mean 'run'?");
}

TEST(Scenario, HostMemoryIsGivenOrTakenFromTheNode) {
  const Scenario given = read(
      minimal, {"engine.host_kv=64 GiB", "engine.preemption=swap", "engine.host_copies=before"});
  EXPECT_EQ(given.engine.host_kv, Bytes(64.0 * 1073741824.0));
  EXPECT_EQ(given.engine.preemption, Preemption::swap);
  EXPECT_EQ(given.engine.host_copies, HostCopies::before);
  EXPECT_EQ(to_toml(resolved_scenario(given)),
            to_toml(resolved_scenario(read(to_toml(resolved_scenario(given))))));
  // Two GPUs' part of three quarters of the node's 2 TB.
  const Scenario shared = read(minimal, {"engine.host_kv=auto", "deployment.tensor_parallel=2"});
  EXPECT_DOUBLE_EQ(shared.engine.host_kv.value(), 0.75 * 2e12 / 8 * 2);
  EXPECT_EQ(read(minimal).engine.host_kv, Bytes(0.0));
}

TEST(Scenario, HostMemoryMustBeThere) {
  EXPECT_EQ(error_of(minimal, {"engine.preemption=swap"}),
            "--set engine.preemption=swap: engine.preemption: is \"swap\", which needs host "
            "memory: set host_kv, such as host_kv = \"16 GiB\"");
  EXPECT_EQ(error_of(minimal, {"engine.host_kv=4 TB"}),
            "--set engine.host_kv=4 TB: engine.host_kv: 3.64 TiB per replica is 3.64 TiB on a node "
            "with 1 of its GPUs in use, but a node of cluster 'h200-sxm-8' has 1.82 TiB of memory; "
            "lower it, or write \"auto\" for what a node can give");
  EXPECT_NE(error_of(minimal, {"engine.memory_rule=of_free", "engine.graphs_in_share=true"})
                .find("is for memory_rule = \"of_total\" only"),
            std::string::npos);
}

TEST(Scenario, AKvCacheTakesAFormatThatTheGpuHas) {
  EXPECT_EQ(read(minimal, {"model.kv_dtype=fp8"}).execution.kv_dtype, DType::fp8);
  EXPECT_EQ(error_of(minimal, {"model.kv_dtype=fp8", "cluster.name=a100-sxm-8"}),
            "--set model.kv_dtype=fp8: model.kv_dtype: is \"fp8\", but a100-sxm has no fp8, and "
            "attention that converts it in software was not measured; use int8, bf16 or fp16");
  EXPECT_EQ(error_of(minimal, {"model.kv_dtype=mxfp4"}),
            "--set model.kv_dtype=mxfp4: model.kv_dtype: is \"mxfp4\", but a KV cache is held in "
            "bf16, fp16, fp8, int8 or fp32");
}

// As engines do with kv_dtype "auto", unless the weights are to be in another format, too.
TEST(Scenario, AKvCacheIsKeptAsTheCheckpointSays) {
  Transformer model = load_model("llama-3.1-8b", {});
  model.kv_released = DType::fp8;
  const std::string path = (own_folder() / "scaled.toml").string();
  std::ofstream(path) << model_toml(model);
  const auto kept = [&](const std::vector<std::string>& more) {
    std::vector<std::string> changes = {"model.name=" + path};
    changes.insert(changes.end(), more.begin(), more.end());
    return read(minimal, changes).execution.kv_dtype;
  };
  EXPECT_EQ(kept({}), DType::fp8);
  EXPECT_EQ(kept({"model.kv_dtype=bf16"}), DType::bf16);
  EXPECT_EQ(kept({"model.dtype=bf16"}), DType::bf16);
  EXPECT_EQ(kept({"cluster.name=a100-sxm-8"}), DType::bf16) << "which has no fp8";
}

TEST(Scenario, RefusesABudgetBelowTheSequences) {
  EXPECT_EQ(error_of(minimal, {"engine.batch_tokens_max=100"}),
            "--set engine.batch_tokens_max=100: engine.batch_tokens_max: 100 is below "
            "sequences_max = 256: every decoding sequence needs a token of the budget; raise it or "
            "lower sequences_max");
}

TEST(Scenario, ChecksTheLayoutAgainstModelAndCluster) {
  EXPECT_EQ(error_of(minimal, {"deployment.tensor_parallel=3"}),
            "--set deployment.tensor_parallel=3: tensor_parallel = 3 does not divide the 32 query "
            "heads of llama-3.1-8b; use 1, 2, 4, 8, 16 or 32");
  EXPECT_EQ(error_of(minimal, {"deployment.tensor_parallel=4", "deployment.replicas=3"}),
            "--set deployment.tensor_parallel=4: 3 replicas x tensor_parallel 4 x "
            "pipeline_parallel 1 need 12 GPUs, but cluster 'h200-sxm-8' has 8; lower one of them "
            "or name a larger cluster");
}

// Products beyond 32 bits came out as 0 or negative, and divided by zero.
TEST(Scenario, ALayoutBeyondAnyClusterSaysSo) {
  EXPECT_EQ(error_of(minimal, {"deployment.tensor_parallel=8",
                               "deployment.data_parallel_attention=536870912"}),
            "--set deployment.tensor_parallel=8: tensor_parallel 8 x data_parallel_attention "
            "536870912 x pipeline_parallel 1 is more than the 65536 GPUs that a replica may span; "
            "lower one of them");
  EXPECT_EQ(error_of(minimal, {"deployment.tensor_parallel=8", "deployment.replicas=536870912"}),
            "--set deployment.tensor_parallel=8: 536870912 replicas x tensor_parallel 8 x "
            "pipeline_parallel 1 need 4294967296 GPUs, but cluster 'h200-sxm-8' has 8; lower one "
            "of them or name a larger cluster");
}

TEST(Scenario, AutoReplicasFillTheCluster) {
  EXPECT_EQ(read(minimal, {"deployment.replicas=auto"}).deployment.replicas, 8);
  EXPECT_EQ(read(minimal, {"deployment.replicas=auto", "deployment.tensor_parallel=2",
                           "deployment.pipeline_parallel=3"})
                .deployment.replicas,
            1);  // four groups of two, three a replica
  EXPECT_EQ(read(minimal, {"deployment.replicas=auto", "cluster.name=h200-sxm-8x3",
                           "deployment.tensor_parallel=16"})
                .deployment.replicas,
            1);  // a group takes two whole nodes
  EXPECT_EQ(error_of(minimal, {"deployment.replicas=many"}),
            "--set deployment.replicas=many: deployment.replicas: must be a number or \"auto\" (as "
            "many as the cluster "
            "holds)");
  const Scenario scenario = read(minimal, {"deployment.replicas=auto"});
  EXPECT_EQ(std::get<std::int64_t>(
                resolved_scenario(scenario).find("deployment")->find("replicas")->data),
            8);
}

std::string asking_for(const std::string& model, const std::string& rest = "") {
  return fmt::format(
      "[model]\nname = \"{}\"\n{}\n[cluster]\nname = \"h200-sxm-8\"\n[workload]\n"
      "arrivals = \"all_at_once\"\nrequests = 1\nprompt_tokens = 10\n"
      "output_tokens = 1\n",
      model, rest);
}

WeightFormats formats_of(const std::string& text) {
  return read_scenario(parse_toml(text, "s.toml"), {"."}).execution.formats();
}

TEST(Scenario, WithoutADtypeModelsRunAsPublished) {
  EXPECT_EQ(formats_of(asking_for("gpt-oss-20b")), WeightFormats(DType::bf16, DType::mxfp4));
  EXPECT_EQ(formats_of(asking_for("qwen3-30b-a3b")), WeightFormats(DType::bf16));
  EXPECT_EQ(formats_of(asking_for("gpt-oss-20b", "dtype = \"bf16\"")), WeightFormats(DType::bf16));
  EXPECT_EQ(formats_of(asking_for("qwen3-30b-a3b", "dtype = \"fp8\"\nexpert_dtype = \"nvfp4\"")),
            WeightFormats(DType::fp8, DType::nvfp4));
}

TEST(Scenario, PartsOfTheWeightsHaveFormatsOfTheirOwn) {
  const std::string text = asking_for("deepseek-v3",
                                      "dtype = \"w4a16\"\nattention_dtype = \"bf16\"\n"
                                      "shared_expert_dtype = \"w8a16\"");
  WeightFormats expected(DType::w4a16);
  expected.attention = DType::bf16;
  expected.shared = DType::w8a16;
  EXPECT_EQ(formats_of(text), expected);
  const Scenario scenario = read_scenario(parse_toml(text, "s.toml"), {"."});
  EXPECT_EQ(formats_of(to_toml(resolved_scenario(scenario))), expected);
  EXPECT_THROW(formats_of(asking_for("llama-3.1-8b", "shared_expert_dtype = \"fp8\"")),
               ConfigError);
}

TEST(Scenario, ModelsAndGpusGoByTheNamesThatPeopleUse) {
  std::string text = asking_for("meta-llama/Llama-3.3-70B-Instruct");
  text.replace(text.find("h200-sxm-8"), 10, "NVIDIA H200-8");
  const Scenario scenario = read_scenario(parse_toml(text, "s.toml"), {"/nowhere"});
  EXPECT_EQ(scenario.model.name, "llama-3.1-70b");
  EXPECT_EQ(scenario.cluster.gpu.name, "h200-sxm");
  EXPECT_EQ(formats_of(asking_for("Qwen/Qwen3-32B-AWQ")), WeightFormats(DType::w4a16));
}

}  // namespace
}  // namespace foretoken::scenario_test
