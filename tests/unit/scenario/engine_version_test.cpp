// Presets by version of their engine, and presets upon presets.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/base/toml.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::engine_version_test {
namespace {

Scenario read(const std::vector<std::string>& engine, const std::string& cluster = "h100-sxm-8") {
  std::string text = "[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = \"" + cluster +
                     "\"\n[workload]\narrivals = \"all_at_once\"\nrequests = 1\n"
                     "prompt_tokens = 1\noutput_tokens = 1\n[engine]\n";
  for (const std::string& line : engine) text += line + "\n";
  return read_scenario(parse_toml(text, "s.toml"), {"."});
}

std::string error_of(const std::vector<std::string>& engine) {
  try {
    (void)read(engine);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// Steps are scheduled ahead since 0.14; the share of memory is 0.92 and pays for graphs since 0.21.
TEST(EngineVersion, DefaultsAreThoseOfTheVersion) {
  const auto of = [](const std::string& version) {
    return read({"preset = \"vllm-v1\"", "version = \"" + version + "\""});
  };
  EXPECT_FALSE(of("0.12.0").engine.host.async_scheduling);
  EXPECT_FALSE(of("0.13").engine.host.async_scheduling);
  EXPECT_TRUE(of("0.14").engine.host.async_scheduling);
  EXPECT_DOUBLE_EQ(of("0.19.0").engine.memory_utilization, 0.9);
  EXPECT_FALSE(of("0.20.2").engine.graphs_in_share);
  EXPECT_DOUBLE_EQ(of("0.21.0").engine.memory_utilization, 0.92);
  EXPECT_TRUE(of("0.32.1").engine.graphs_in_share);
  const auto sglang = [](const std::string& version) {
    return read({"preset = \"sglang\"", "version = \"" + version + "\""});
  };
  EXPECT_FALSE(sglang("0.5.9").engine.host.cuda_graph_prefill);
  EXPECT_TRUE(sglang("0.5.16").engine.host.cuda_graph_prefill);
  EXPECT_TRUE(read({"preset = \"vllm-v1\""}).engine.version.empty());
}

TEST(EngineVersion, SharedExpertsRunBesideTheRoutedSinceVllm012) {
  const auto tokens = [](const std::vector<std::string>& engine) {
    return read(engine).execution.shared_experts_beside;
  };
  EXPECT_EQ(tokens({"preset = \"vllm-v1\"\nversion = \"0.11\"\n"}), 0);
  EXPECT_EQ(tokens({"preset = \"vllm-v1\"\nversion = \"0.12\"\n"}), 256);
  EXPECT_EQ(tokens({"preset = \"sglang\"\n"}), 512);
  EXPECT_EQ(tokens({"preset = \"tensorrt-llm\"\n"}), 512);
  EXPECT_EQ(tokens({"preset = \"tensorrt-llm\"\nshared_experts_beside = 0\n"}), 0);
}

// Within a node of Hopper or data-centre Blackwell, the larger the fewer ranks: vLLM since 0.17,
// TensorRT-LLM always, SGLang where it is asked for.
TEST(EngineVersion, SumsTakeTheNormBehindThemAlong) {
  const auto of = [](const std::string& engine, const std::string& cluster, int ranks,
                     int stages = 1) {
    const std::string text =
        "[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = \"" + cluster +
        "\"\n[deployment]\ntensor_parallel = " + std::to_string(ranks) +
        "\npipeline_parallel = " + std::to_string(stages) +
        "\n[workload]\narrivals = \"all_at_once\"\nrequests = 1\nprompt_tokens = 1\n"
        "output_tokens = 1\n[engine]\n" +
        engine;
    return read_scenario(parse_toml(text, "s.toml"), {"."}).execution.fused_all_reduce.value() /
           1024;
  };
  const std::string vllm = "preset = \"vllm-v1\"\nversion = ";
  EXPECT_EQ(of(vllm + "\"0.16\"\n", "h100-sxm-8", 4), 0);
  EXPECT_EQ(of(vllm + "\"0.17\"\n", "h100-sxm-8", 1), 0);
  EXPECT_EQ(of(vllm + "\"0.17\"\n", "h100-sxm-8", 2), 64 * 1024);
  EXPECT_EQ(of(vllm + "\"0.17\"\n", "h100-sxm-8", 4), 2 * 1024);
  EXPECT_EQ(of(vllm + "\"0.17\"\n", "b200-sxm-8", 4), 32 * 1024);
  EXPECT_EQ(of(vllm + "\"0.17\"\n", "h100-sxm-8", 4, 2), 0);
  EXPECT_EQ(of(vllm + "\"0.21\"\n", "h100-sxm-8", 4, 2), 2 * 1024);
  EXPECT_EQ(of(vllm + "\"0.17\"\n", "h100-sxm-8", 8), 512);
  EXPECT_EQ(of(vllm + "\"0.17\"\n", "b200-sxm-8", 8), 1024);
  EXPECT_EQ(of(vllm + "\"0.17\"\n", "a100-sxm-8", 8), 0);
  EXPECT_EQ(of("preset = \"tensorrt-llm\"\n", "h100-sxm-8", 2), 8 * 1024);
  EXPECT_EQ(of("preset = \"tensorrt-llm\"\nfused_all_reduce = \"0 B\"\n", "h100-sxm-8", 2), 0);
  EXPECT_EQ(of("preset = \"sglang\"\n", "h100-sxm-8", 2), 0);
  EXPECT_EQ(of("preset = \"sglang\"\nenable_flashinfer_allreduce_fusion = true\n", "h100-sxm-8", 2),
            28 * 1024);
}

// Drafts switched SGLang's overlap scheduler off until they had workers of their own for it.
TEST(EngineVersion, SglangVerifiesDraftsWithoutOverlapBefore0511) {
  const std::string drafts = "speculative = { method = \"ngram\", drafts = 2, acceptance = 0.6 }";
  const auto host = [&](const std::string& version, const std::string& more) {
    return read({"preset = \"sglang\"", "version = \"" + version + "\"", more}).engine.host;
  };
  EXPECT_TRUE(host("0.5.9", "").async_scheduling);
  EXPECT_FALSE(host("0.5.9", drafts).async_scheduling);
  EXPECT_EQ(host("0.5.9", "").sequence.value(), 0.0);
  EXPECT_DOUBLE_EQ(host("0.5.9", drafts).sequence.value(), 50e-6);
  EXPECT_TRUE(host("0.5.11", drafts).async_scheduling);
  EXPECT_TRUE(host("0.5.9", drafts + "\nasync_scheduling = true").async_scheduling);

  const Scenario scenario = read({"preset = \"sglang\"", drafts, "async_scheduling = true"});
  const Scenario again =
      read_scenario(parse_toml(to_toml(resolved_scenario(scenario)), "r.toml"), {"."});
  EXPECT_TRUE(again.engine.host.async_scheduling);
}

TEST(EngineVersion, AVersionReadsBackAndTheUserStillWins) {
  const Scenario scenario = read({"preset = \"vllm-v1\"", "version = \"0.12\"",
                                  "async_scheduling = true", "memory_utilization = 0.8"});
  EXPECT_TRUE(scenario.engine.host.async_scheduling);
  const std::string text = to_toml(resolved_scenario(scenario));
  EXPECT_NE(text.find("version = \"0.12\""), std::string::npos);
  const Scenario again = read_scenario(parse_toml(text, "r.toml"), {"."});
  EXPECT_TRUE(again.engine.host.async_scheduling);
  EXPECT_EQ(to_toml(resolved_scenario(again)), text);
}

TEST(EngineVersion, VersionsThatItDoesNotDescribeSayWhichItDoes) {
  EXPECT_EQ(error_of({"preset = \"vllm-v1\"", "version = \"0.40\""}),
            "s.toml:12:1: the preset vllm-v1 describes vLLM 0.11 to 0.32, not 0.40; the nearest is "
            "\"0.32\"");
  EXPECT_EQ(error_of({"preset = \"vllm-v1\"", "version = \"0.6\""}),
            "s.toml:12:1: the preset vllm-v1 describes vLLM 0.11 to 0.32, not 0.6; the nearest is "
            "\"0.11\"");
  EXPECT_EQ(error_of({"preset = \"vllm-v1\"", "version = \"latest\""}),
            "s.toml:12:1: \"latest\" is not a version; write it like \"0.19.0\"");
  EXPECT_EQ(error_of({"preset = \"vllm-v1\"", "version = 0.12"}),
            "s.toml:12:1: engine.version: must be a string, not 0.12; put it in quotes");
  EXPECT_EQ(error_of({"version = \"0.12\""}),
            "s.toml:11:1: engine.version: is the version of an engine; name that with preset, such "
            "as preset = \"vllm-v1\"");
  const EnginePreset vllm = load_engine_preset("vllm-v1", {});
  EXPECT_EQ(vllm.nearest_version("0.33.0"), "0.32");
  EXPECT_EQ(vllm.nearest_version("0.10.2"), "0.11");
  EXPECT_EQ(vllm.nearest_version("0.18.0"), "0.18.0");
  EXPECT_EQ(vllm.nearest_version("nightly"), "");
  EXPECT_EQ(load_engine_preset("sglang", {}).nearest_version("0.5.17"), "0.5.16");
  EXPECT_EQ(load_engine_preset("tensorrt-llm", {}).nearest_version("1.3.0rc20"), "1.3.0rc20");
}

TEST(EngineVersion, OneMayBeBasedOnAnother) {
  const std::filesystem::path path = own_folder() / "mine.toml", next = own_folder() / "next.toml";
  std::ofstream(path) << "based_on = \"vllm-v1\"\n[engine]\nhost_step = { value = \"2 ms\", "
                         "source = \"us\" }\n";
  std::ofstream(next) << "based_on = \"mine.toml\"\nversion = \"0.12\"\n[engine]\n"
                         "sequences_max = { value = 5, source = \"us\" }\n";
  const Scenario mine = read({"preset = \"" + path.string() + "\""});
  EXPECT_EQ(mine.engine.host.step, Seconds(2e-3));
  EXPECT_EQ(mine.engine.batch_tokens_max, 8192) << "as on such a GPU";
  EXPECT_EQ(read({"preset = \"" + path.string() + "\"", "max_num_seqs = 7"}).engine.sequences_max,
            7);
  const Scenario both = read({"preset = \"" + next.string() + "\""});
  EXPECT_EQ(both.engine.host.step, Seconds(2e-3));
  EXPECT_EQ(both.engine.sequences_max, 5);
  EXPECT_FALSE(both.engine.host.async_scheduling);
  std::ofstream(path) << "based_on = \"next.toml\"\n";
  EXPECT_NE(error_of({"preset = \"" + next.string() + "\""})
                .find("based_on: the chain of presets is too long; is one based on itself?"),
            std::string::npos);
  std::filesystem::remove(path);
  std::filesystem::remove(next);
}

}  // namespace
}  // namespace foretoken::engine_version_test
