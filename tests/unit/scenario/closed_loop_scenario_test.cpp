// Scenarios of measured points: rules by what they are for, formats, layouts, clusters.

#include "sim/scenario/closed_loop_scenario.hpp"

#include <gtest/gtest.h>

#include "sim/base/toml.hpp"
#include "sim/scenario/unclear_drafts.hpp"

namespace foretoken {
namespace {

ClosedLoopPoint a_point() {
  ClosedLoopPoint point;
  point.engine = "vllm";
  point.version = "0.12.0";
  point.source = "2026-04-06.csv";
  point.model = "Qwen/Qwen3-32B";
  point.system = "h100_sxm";
  point.users = 8;
  point.prompt_tokens = 100;
  point.output_tokens = 10;
  point.layout.tensor = 4;
  return point;
}

ServerSettings settings_of(const std::string& toml) {
  return ServerSettings(read_server_rules(parse_toml(toml, "servers.toml")));
}

std::string table_of(const ServerSettings& servers, const ClosedLoopPoint& point,
                     std::string_view table) {
  const Value scenario = servers.scenario(point);
  return to_toml(*scenario.find(table));
}

TEST(ServerSettings, LaterRulesOverrideEarlierOnes) {
  const ServerSettings servers = settings_of(
      "requests_per_user = 3\ncalibration_tensor_parallel = 4\n"
      "[[rule]]\nabout = \"a\"\nwhere = { engines = [\"vllm\"] }\n"
      "[rule.engine]\nbatch_tokens_max = \"prompt + users + 64\"\nasync_scheduling = true\n"
      "[[rule]]\nabout = \"b\"\nwhere = { versions = [\"0.12\"], sources = [\"2026-\"] }\n"
      "[rule.engine]\nasync_scheduling = false\n"
      "[[rule]]\nabout = \"c\"\nwhere = { models = [\"qwen3-32b\"], experts = false }\n"
      "[rule.engine]\nsequences_max = \"users\"\n"
      "[[rule]]\nabout = \"d\"\nwhere = { prompt_at_least = 101 }\n"
      "[rule.engine]\nsequences_max = 1\n");
  ClosedLoopPoint point = a_point();
  EXPECT_TRUE(servers.is_calibration(point));
  EXPECT_EQ(table_of(servers, point, "engine"),
            "preset = \"vllm-v1\"\nversion = \"0.12.0\"\nbatch_tokens_max = 172\n"
            "async_scheduling = false\n"
            "sequences_max = 8\n");
  EXPECT_NE(table_of(servers, point, "workload").find("requests = 24"), std::string::npos);
  point.layout.tensor = 2;
  EXPECT_FALSE(servers.is_calibration(point));
  point.engine = "orca";
  EXPECT_THROW((void)servers.scenario(point), ConfigError);
}

TEST(ServerSettings, RulesAreForGpusAndForSpreadExperts) {
  const ServerSettings servers = settings_of(
      "[[rule]]\nabout = \"a\"\nwhere = { systems = [\"h200_sxm\"], expert_parallel = true }\n"
      "[rule.engine]\nexpert_kernels = \"deep_gemm\"\n");
  ClosedLoopPoint point = a_point();
  point.system = "h200_sxm";
  const auto is_chosen = [&] {
    return table_of(servers, point, "engine").find("deep_gemm") != std::string::npos;
  };
  EXPECT_FALSE(is_chosen());
  point.layout.experts = 4;
  EXPECT_TRUE(is_chosen());
  point.system = "h100_sxm";
  EXPECT_FALSE(is_chosen());
}

TEST(ServerSettings, ClientsSpreadLengths) {
  const ServerSettings servers =
      settings_of("[[rule]]\nabout = \"a\"\n[rule.clients]\nlength_from = 0.8\n");
  EXPECT_NE(table_of(servers, a_point(), "workload").find("min = 80"), std::string::npos);
  EXPECT_NE(table_of(ServerSettings(), a_point(), "workload").find("prompt_tokens = 100"),
            std::string::npos);
}

TEST(ServerSettings, WhatIsKnownOfPublicServersIsEmbedded) {
  const ServerRules rules = public_server_rules();
  EXPECT_EQ(rules.calibration_tensor_parallel, 4);
  EXPECT_FALSE(rules.rules.empty());
  EXPECT_NE(table_of(ServerSettings(rules), a_point(), "engine").find("sequences_max = 8"),
            std::string::npos);
}

TEST(ServerSettings, MistakesOfAFileAreReportedTogether) {
  try {
    (void)settings_of(
        "requests_per_user = 0\n[[rule]]\nwhere = { engine = [\"vllm\"] }\n"
        "[[rule]]\nabout = \"b\"\n[rule.clients]\nlength_from = 2\n");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().size(), 4U) << error.what();
  }
  const ServerSettings servers =
      settings_of("[[rule]]\nabout = \"a\"\n[rule.engine]\nsequences_max = \"some\"\n");
  EXPECT_THROW((void)servers.scenario(a_point()), ConfigError);
}

TEST(ServerSettings, FormatsAreThoseOfTheCheckpoint) {
  const auto model_of = [](const std::string& id, const std::string& gemm, const std::string& moe) {
    ClosedLoopPoint point = a_point();
    point.model = id;
    point.gemm_format = gemm;
    point.moe_format = moe;
    return table_of(ServerSettings(), point, "model");
  };
  EXPECT_EQ(model_of("Qwen/Qwen3-32B", "", ""), "name = \"qwen3-32b\"\n");
  EXPECT_EQ(model_of("Qwen/Qwen3-32B", "fp8", "fp8"), "name = \"qwen3-32b\"\ndtype = \"fp8\"\n");
  EXPECT_EQ(model_of("Qwen/Qwen3-235B-A22B-FP8", "fp8", "fp8"),
            "name = \"qwen3-235b-a22b\"\ndtype = \"fp8_block\"\n");
  EXPECT_EQ(model_of("openai/gpt-oss-120b", "nvfp4", "nvfp4"), "name = \"gpt-oss-120b\"\n")
      << "published in 4 bits";
  EXPECT_EQ(model_of("deepseek-ai/DeepSeek-R1", "nvfp4", "nvfp4"),
            "name = \"deepseek-r1\"\ndtype = \"nvfp4\"\nattention_dtype = \"bf16\"\n");
  EXPECT_EQ(model_of("Qwen/Qwen3-235B-A22B", "bfloat16", "int4_wo"),
            "name = \"qwen3-235b-a22b\"\ndtype = \"bf16\"\nexpert_dtype = \"w4a16\"\n");
  EXPECT_EQ(model_of("moonshotai/Kimi-K2.5", "fp8", "fp8"), "name = \"kimi-k2.5\"\n")
      << "published in 4 bits";
  EXPECT_EQ(model_of("moonshotai/Kimi-K2.5", "nvfp4", "nvfp4"),
            "name = \"kimi-k2.5\"\ndtype = \"nvfp4\"\nattention_dtype = \"bf16\"\n")
      << "as nvidia/Kimi-K2.5-NVFP4";
  EXPECT_THROW((void)model_of("Qwen/Qwen3-32B", "int3", ""), ConfigError);
}

TEST(ServerSettings, TensorRanksAreThoseOfTheLaunchLine) {
  const ServerSettings servers = settings_of(
      "[[rule]]\nabout = \"a\"\nwhere = { tensor_below = 8 }\n"
      "[rule.engine]\nsequences_max = 32\n");
  ClosedLoopPoint point = a_point();
  point.layout = {.tensor = 1, .attention_ranks = 8};
  const auto holds = [&](const std::string& engine) {
    point.engine = engine;
    return table_of(servers, point, "engine").find("sequences_max = 32") != std::string::npos;
  };
  EXPECT_FALSE(holds("sglang")) << "--tp 8 --dp 8 --enable-dp-attention";
  EXPECT_FALSE(holds("trtllm")) << "tp_size 8, enable_attention_dp";
  EXPECT_TRUE(holds("vllm")) << "-tp 1 -dp 8";
}

TEST(ServerSettings, FourBitsAreThoseThatTheGpuMultiplies) {
  ClosedLoopPoint point = a_point();
  point.model = "deepseek-ai/DeepSeek-R1";
  point.gemm_format = point.moe_format = "fp4";
  const auto is_served_in = [&point](const std::string& system, const std::string& format) {
    point.system = system;
    const std::string model = table_of(ServerSettings(), point, "model");
    return model.find("\ndtype = \"" + format + "\"\nattention_dtype = \"bf16\"") != model.npos;
  };
  EXPECT_TRUE(is_served_in("b200_sxm", "nvfp4"));
  EXPECT_TRUE(is_served_in("mi355x", "mxfp4")) << "no path for nvfp4";
  EXPECT_TRUE(is_served_in("h200_sxm", "nvfp4")) << "neither: weights alone, as published";
}

TEST(ServerSettings, TheCacheFollowsCheckpointsOfModelOpt) {
  ClosedLoopPoint point = a_point();
  point.engine = "trtllm";
  point.gemm_format = "fp8";
  EXPECT_NE(table_of(ServerSettings(), point, "model").find("kv_dtype = \"fp8\""),
            std::string::npos);
  point.gemm_format = "fp8_block";
  EXPECT_EQ(table_of(ServerSettings(), point, "model").find("kv_dtype"), std::string::npos);
}

TEST(ServerSettings, ClustersHaveRoomForTheLayout) {
  ClosedLoopPoint point = a_point();
  EXPECT_EQ(table_of(ServerSettings(), point, "cluster"), "name = \"h100-sxm-8\"\n");
  point.layout.attention_ranks = 4;
  EXPECT_EQ(table_of(ServerSettings(), point, "cluster"), "name = \"h100-sxm-8x2\"\n");
  point.system = "gb200";
  EXPECT_EQ(table_of(ServerSettings(), point, "cluster"), "name = \"gb200-72\"\n");
  point.prefill = MeasuredLayout{.tensor = 2, .workers = 3};
  const Value scenario = ServerSettings().scenario(point);
  EXPECT_EQ(scenario.find("deployment"), nullptr);
  EXPECT_EQ(to_toml(*scenario.find("pool")->find("prefill")),
            "role = \"prefill\"\ntensor_parallel = 2\npipeline_parallel = 1\nreplicas = 3\n");
}

TEST(ServerSettings, ChoicesReplaceWhatRowsSay) {
  const ServerSettings servers(ServerRules(), {"llama-3.1-8b", "h200-sxm-8"});
  ClosedLoopPoint point = a_point();
  point.model = "nobody/knows";
  EXPECT_EQ(table_of(servers, point, "model"), "name = \"llama-3.1-8b\"\n");
  EXPECT_EQ(table_of(servers, point, "cluster"), "name = \"h200-sxm-8\"\n");
}

TEST(UnclearDrafts, AreRowsOfOneConfigurationFarApart) {
  std::vector<ClosedLoopPoint> points(5, a_point());
  const auto set = [&](std::size_t i, const char* model, double tpot_ms, int users) {
    points[i].model = model;
    points[i].tpot_ms = tpot_ms;
    points[i].users = users;
  };
  set(0, "deepseek-ai/DeepSeek-R1", 10, 8);
  set(1, "deepseek-ai/DeepSeek-V3", 16, 8);  // the same network under another name
  set(2, "deepseek-ai/DeepSeek-R1", 16, 16);
  set(3, "Qwen/Qwen3-32B", 10, 8);  // no module that drafts
  set(4, "Qwen/Qwen3-32B", 20, 8);
  EXPECT_EQ(points_with_unclear_drafts(points, {}), (std::vector<std::size_t>{0, 1}));
  points[1].tpot_ms = 15;
  EXPECT_TRUE(points_with_unclear_drafts(points, {}).empty());
  points[1].tpot_ms = 20;
  points[1].version = "9";
  const ServerSettings knows_one = settings_of(
      "[[rule]]\nabout = \"a\"\nwhere = { versions = [\"9\"] }\n[rule.engine]\n"
      "speculative = { method = \"mtp\", drafts = 1, acceptance = 0.7 }\n");
  EXPECT_TRUE(points_with_unclear_drafts(points, knows_one).empty()) << "that one drafts";
}

TEST(ServerSettings, RulesKnowTheDayOfAMeasurement) {
  const ServerSettings servers = settings_of(
      "[[rule]]\nabout = \"a\"\nwhere = { days = [\"2026-01\"] }\n"
      "[rule.engine]\nsequences_max = 7\n");
  ClosedLoopPoint point = a_point();
  const auto has_rule = [&] {
    return to_toml(*servers.scenario(point).find("engine")).find("sequences_max = 7") !=
           std::string::npos;
  };
  EXPECT_FALSE(has_rule()) << "not said";
  point.day = "2026-01-14";
  EXPECT_TRUE(has_rule());
  point.day = "2025-12-15";
  EXPECT_FALSE(has_rule());
}

// A row calls eight GPUs TP8; attention ran on each for its own users, and experts over all.
TEST(ServerSettings, RulesSayWhatRowsLeaveOutOfTheLayout) {
  const ServerSettings servers = settings_of(
      "calibration_tensor_parallel = 8\n"
      "[[rule]]\nabout = \"a\"\nwhere = { attention_ranks = true, expert_parallel = true }\n"
      "[rule.engine]\nsequences_max = \"rank_users + 1\"\n"
      "[[rule]]\nabout = \"b\"\nwhere = { users_at_least = 64 }\n"
      "[rule.layout]\nexpert_parallel = true\nattention_ranks = true\n");
  ClosedLoopPoint point = a_point();
  point.layout = {.tensor = 8};
  point.users = 63;
  EXPECT_EQ(table_of(servers, point, "deployment"), "tensor_parallel = 8\npipeline_parallel = 1\n");
  EXPECT_EQ(servers.scenario(point).find("engine")->find("sequences_max"), nullptr);
  point.users = 64;
  EXPECT_EQ(table_of(servers, point, "deployment"),
            "tensor_parallel = 1\npipeline_parallel = 1\nexpert_parallel = 8\n"
            "data_parallel_attention = 8\n");
  EXPECT_NE(table_of(servers, point, "engine").find("sequences_max = 9"), std::string::npos);
  EXPECT_TRUE(servers.is_calibration(point)) << "by what the row says";
}

// Rows of one configuration call its prefill workers by attention ranks in one month only.
TEST(ServerSettings, RulesCorrectTheLayoutOfWorkersThatPrefill) {
  const ServerSettings servers = settings_of(
      "[[rule]]\nabout = \"a\"\nwhere = { prompt_at_least = 100 }\n"
      "[rule.prefill_layout]\nattention_ranks = false\n"
      "[[rule]]\nabout = \"b\"\nwhere = { prompt_below = 100 }\n"
      "[rule.prefill_layout]\nattention_ranks = true\nexpert_parallel = false\n");
  ClosedLoopPoint point = a_point();
  const auto prefill_is = [&](const std::string& layout) {
    EXPECT_EQ(to_toml(*servers.scenario(point).find("pool")->find("prefill")),
              "role = \"prefill\"\n" + layout + "replicas = 2\n");
  };
  for (const int ranks : {1, 8}) {
    point.prompt_tokens = 100;
    point.prefill = {.tensor = 8 / ranks, .attention_ranks = ranks, .experts = 8, .workers = 2};
    prefill_is("tensor_parallel = 8\npipeline_parallel = 1\nexpert_parallel = 8\n");
    point.prompt_tokens = 99;
    prefill_is("tensor_parallel = 1\npipeline_parallel = 1\ndata_parallel_attention = 8\n");
  }
}

TEST(ServerSettings, RulesReachThePoolsOfThoseApart) {
  const ServerSettings servers = settings_of(
      "[[rule]]\nabout = \"a\"\nwhere = { decode_workers = 3, users_below = 9 }\n"
      "[rule.prefill]\nbatch_tokens_max = \"prompt + 20\"\n[rule.decode]\nsequences_max = 2\n"
      "[[rule]]\nabout = \"b\"\nwhere = { prefill_attention_ranks = true }\n"
      "[rule.decode]\nsequences_max = 4\n");
  ClosedLoopPoint point = a_point();
  EXPECT_EQ(servers.scenario(point).find("pool"), nullptr);
  point.prefill = MeasuredLayout{};
  point.layout.workers = 3;
  const auto engine = [&](std::string_view pool) {
    const Value scenario = servers.scenario(point);
    const Value* found = scenario.find("pool")->find(pool)->find("engine");
    return found != nullptr ? to_toml(*found) : "";
  };
  EXPECT_EQ(engine("prefill"), "batch_tokens_max = 120\n");
  EXPECT_EQ(engine("decode"), "sequences_max = 2\n");
  point.prefill->attention_ranks = 2;
  EXPECT_EQ(engine("decode"), "sequences_max = 4\n");
  point.users = 9;
  EXPECT_EQ(engine("prefill"), "");
}

}  // namespace
}  // namespace foretoken
