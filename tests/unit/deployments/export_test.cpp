// What is exported and imported again is the same scenario, whatever the format.
#include <gmock/gmock.h>

#include <algorithm>

#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"
#include "sim/deployments/bench_script.hpp"
#include "sim/deployments/deployment_export.hpp"
#include "sim/deployments/deployment_format.hpp"
#include "sim/deployments/launched_scenario.hpp"
#include "sim/deployments/launcher.hpp"
#include "sim/deployments/scenario_servers.hpp"

namespace foretoken::export_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* traffic = R"(
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 20
prompt_tokens = 1000
output_tokens = 100
)";

Scenario scenario_of(const std::string& toml) {
  return read_scenario(parse_toml(toml + traffic, "test.toml"), {".", false});
}

/// The order of keys says nothing.
Value in_order(Value value) {
  if (!value.is_object()) return value;
  auto& members = std::get<ValueObject>(value.data);
  for (auto& [key, member] : members) member = in_order(member);
  std::ranges::sort(members, {}, &ValueObject::value_type::first);
  return value;
}

/// What a launch can say of a scenario, as text.
std::string tables_of(const Scenario& scenario) {
  const Value all = resolved_scenario(scenario);
  std::string text;
  for (const char* name : {"model", "cluster", "deployment", "engine", "pool"})
    if (const Value* table = all.find(name)) text += to_json(in_order(*table)) + "\n";
  return text;
}

/// How many formats took it.
int expect_same_again(const std::string& toml) {
  const Scenario scenario = scenario_of(toml);
  const LaunchedDeployment deployment = servers_of(scenario);
  int formats_taken = 0;
  const DeploymentFormatRegistry formats = deployment_format_registry();
  for (const auto& entry : formats.entries()) {
    const auto format = entry.make();
    if (!format->obstacle(deployment).empty()) continue;
    ++formats_taken;
    const std::string text = format->write(deployment);
    LaunchedScenario again = launched_scenario(parse_deployment(text, format->file_name(), ""), "",
                                               scenario.cluster_name);
    again.tables.set("workload", *parse_toml(traffic, "traffic").find("workload"));
    for (const FlagOutcome& flag : again.flags)
      EXPECT_NE(flag.fate, FlagFate::unknown) << flag.flag << " in\n" << text;
    EXPECT_EQ(tables_of(read_scenario(again.tables, {".", false})), tables_of(scenario))
        << entry.name << ":\n"
        << text;
  }
  return formats_taken;
}

struct Case {
  const char* name;
  const char* toml;
};

const Case cases[] = {
    {"vllm", R"(
[model]
name = "llama-3.1-70b"
kv_dtype = "fp8"
[cluster]
name = "h100-sxm-8"
[deployment]
tensor_parallel = 4
replicas = 2
[engine]
preset = "vllm-v1"
sequences_max = 96
context_max = 16384
prefix_caching = false
async_scheduling = false
)"},
    {"vllm_eager_quantised", R"(
[model]
name = "qwen3-8b"
dtype = "w4a16"
[cluster]
name = "l40s-4"
[deployment]
pipeline_parallel = 2
replicas = 2
[engine]
preset = "vllm-v1"
cuda_graph_sizes = []
chunked_prefill = false
batch_tokens_max = 40960
host_kv = "16 GiB"
)"},
    {"vllm_attention_ranks", R"(
[model]
name = "deepseek-v3"
[cluster]
name = "h200-sxm-8"
[deployment]
data_parallel_attention = 8
expert_parallel = 8
expert_exchange = "deepep_low_latency"
balance_experts = true
redundant_experts = 32
[engine]
preset = "vllm-v1"
scheduler = "priority"
)"},
    {"sglang", R"(
[model]
name = "qwen3-32b"
[cluster]
name = "h100-sxm-8"
[deployment]
tensor_parallel = 2
replicas = 3
[engine]
preset = "sglang"
chunk_tokens = 4096
mixed_chunk = true
order = "lpm"
memory_utilization = 0.8
kv_tokens_max = 300000
)"},
    {"sglang_attention_ranks", R"(
[model]
name = "deepseek-v3"
[cluster]
name = "h200-sxm-8x2"
[deployment]
tensor_parallel = 2
data_parallel_attention = 8
expert_parallel = 16
expert_exchange = "deepep"
balance_experts = true
redundant_experts = 16
[engine]
preset = "sglang"
)"},
    {"tensorrt_llm", R"(
[model]
name = "llama-3.1-8b"
kv_dtype = "fp8"
[cluster]
name = "h100-sxm-8"
[deployment]
tensor_parallel = 2
replicas = 2
[engine]
preset = "tensorrt-llm"
chunked_prefill = true
prefix_caching = false
memory_utilization = 0.85
kv_tokens_max = 250000
capacity_policy = "max_utilization"
)"},
    {"drafts", R"(
[model]
name = "deepseek-v3"
[cluster]
name = "h200-sxm-8"
[deployment]
tensor_parallel = 8
[engine]
preset = "vllm-v1"
speculative = { method = "mtp", drafts = 2, acceptance = 0.7 }
)"},
    {"adapters", R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-1"
[engine]
preset = "vllm-v1"
lora = { adapters_max = 8, rank = 32 }
)"},
    {"image encoder", R"(
[model]
name = "qwen3.5-27b"
[cluster]
name = "h200-sxm-2"
[deployment]
tensor_parallel = 2
[engine]
preset = "vllm-v1"
encoder = { parallel = "data" }
)"},
    {"pools", R"(
[model]
name = "qwen3-32b"
[cluster]
name = "h100-sxm-8"
[pool.prefill]
role = "prefill"
tensor_parallel = 2
replicas = 2
engine = { preset = "sglang" }
[pool.decode]
role = "decode"
tensor_parallel = 4
engine = { preset = "sglang", sequences_max = 512 }
)"},
    {"pools_vllm", R"(
[model]
name = "gpt-oss-120b"
[cluster]
name = "h100-sxm-8"
[pool.prefill]
role = "prefill"
replicas = 4
engine = { preset = "vllm-v1" }
[pool.decode]
role = "decode"
tensor_parallel = 4
engine = { preset = "vllm-v1" }
)"},
};

TEST(Export, ImportedAgainIsTheSameScenario) {
  for (const Case& example : cases) {
    SCOPED_TRACE(example.name);
    EXPECT_GE(expect_same_again(example.toml), 2);
  }
}

TEST(Export, AttentionRanksLimitsAreTheServersAgain) {
  const LaunchedServer server = servers_of(scenario_of(cases[4].toml)).servers.front();
  EXPECT_EQ(std::get<std::int64_t>(server.find("chunked_prefill_size")->data), 8192);
}

TEST(Export, SaysWhatNoFlagSays) {
  const Scenario scenario = scenario_of(std::string(cases[0].toml) + "host_step = \"2 ms\"\n");
  const LaunchedDeployment deployment = servers_of(scenario);
  ASSERT_EQ(deployment.notes.size(), 1U);
  EXPECT_THAT(deployment.notes[0], HasSubstr("vLLM has no flag for [engine] host_step"));
}

TEST(Export, EveryBuiltInModelHasAPublishedId) {
  for (const std::string& name : model_names()) EXPECT_NE(published_id(name), "") << name;
}

TEST(Export, TheLoadToolMakesTheSameTraffic) {
  const Scenario scenario = scenario_of(cases[0].toml);
  const BenchScript bench = bench_script(scenario, servers_of(scenario));
  EXPECT_THAT(bench.text, HasSubstr("vllm bench serve"));
  EXPECT_THAT(bench.text, HasSubstr("--random-input-len 1000"));
  EXPECT_THAT(bench.text, HasSubstr("--request-rate 4"));
  EXPECT_THAT(bench.text, HasSubstr("foretoken validate result.json"));
  EXPECT_EQ(bench.traffic, "");
}

TEST(Export, TrafficThatVllmsToolCannotMakeIsAiperfs) {
  const Scenario scenario = read_scenario(
      parse_toml(std::string(cases[0].toml) +
                     "[workload]\narrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 20\n"
                     "prompt_tokens = { distribution = \"uniform\", min = 10, max = 90 }\n"
                     "output_tokens = 100\n",
                 "t.toml"),
      {".", false});
  const BenchScript bench = bench_script(scenario, servers_of(scenario));
  EXPECT_THAT(bench.text, HasSubstr("aiperf profile"));
  EXPECT_THAT(bench.text, HasSubstr("--output-artifact-dir result\n"
                                    "\ncp result/profile_export.jsonl .\n"
                                    "foretoken validate profile_export.jsonl\n"));
  EXPECT_EQ(std::ranges::count(bench.traffic, '\n'), 20);
}

TEST(Export, TheLoadToolMakesTheLoadThatWasPlanned) {
  const Scenario scenario = read_scenario(
      parse_toml(std::string(cases[0].toml) + traffic + "rate_scale = 1.5\n", "t.toml"),
      {".", false});
  EXPECT_THAT(bench_script(scenario, servers_of(scenario)).text, HasSubstr("--request-rate 6 "));
}

}  // namespace
}  // namespace foretoken::export_test
