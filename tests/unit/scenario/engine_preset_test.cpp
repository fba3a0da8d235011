// Presets: what they set where, what a scenario overrides, the engines' own flags, and messages.

#include "sim/scenario/engine_preset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "kernels/communication/engine_exchange.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::engine_preset_test {
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

Scenario read_with_experts(const std::string& layout, const std::string& engine) {
  return read_scenario(
      parse_toml("[model]\nname = \"deepseek-v2-lite\"\n[cluster]\nname = \"h100-sxm-8\"\n"
                 "[workload]\narrivals = \"all_at_once\"\nrequests = 1\nprompt_tokens = 1\n"
                 "output_tokens = 1\n" +
                     layout + "\n[engine]\n" + engine,
                 "s.toml"),
      {"."});
}

// What each preset's version does on an H100, and without a preset the newest of the framework.
TEST(EnginePreset, TokensReachExpertsAsTheEngineSendsThem) {
  const std::string ranks = "[deployment]\ndata_parallel_attention = 8\nexpert_parallel = 8\n";
  const auto prompts_and_decodes = [](const Scenario& scenario) {
    return exchange_text(scenario.execution.expert_exchange);
  };
  const std::map<std::string, std::string> expected = {
      {"vllm-v1", "all_gather"},
      {"sglang", "all_reduce (prompts), all_gather (decodes)"},
      {"tensorrt-llm", "all_gather"}};
  for (const std::string& name : engine_preset_names()) {
    const std::string preset = "preset = \"" + name + "\"\n";
    const Scenario scenario = read_with_experts(ranks, preset);
    EXPECT_EQ(prompts_and_decodes(scenario), expected.at(name)) << name;
    const Scenario again = read_scenario(resolved_scenario(scenario), {"."});
    EXPECT_EQ(prompts_and_decodes(again), expected.at(name)) << name;
    EXPECT_EQ(
        prompts_and_decodes(read_with_experts(ranks + "expert_exchange = \"all_to_all\"", preset)),
        "all_to_all");
    EXPECT_EQ(read_with_experts("", preset).execution.expert_exchange, ExpertExchange())
        << "nobody exchanges anything";
  }
  EXPECT_EQ(prompts_and_decodes(read_with_experts(ranks, "")), "all_gather");
  EXPECT_EQ(prompts_and_decodes(read_with_experts(ranks, "framework = \"sglang\"\n")),
            "all_reduce (prompts), all_gather (decodes)");
  EXPECT_EQ(
      prompts_and_decodes(read_with_experts(ranks + "expert_exchange = \"sglang-0.5.1\"\n", "")),
      "all_gather");
}

TEST(EnginePreset, EveryPoolHasItsEnginesExchange) {
  const Scenario scenario = read_with_experts(
      "[pool.prefill]\nrole = \"prefill\"\ndata_parallel_attention = 4\nexpert_parallel = 4\n"
      "expert_exchange = \"all_to_all\"\n[pool.decode]\nrole = \"decode\"\n"
      "data_parallel_attention = 4\nexpert_parallel = 4\n",
      "preset = \"sglang\"\n");
  EXPECT_EQ(scenario.pools[0].scenario.execution.expert_exchange, ExpertExchange());
  EXPECT_EQ(scenario.pools[1].scenario.execution.expert_exchange.prompts,
            ExchangeMethod::all_reduce);
}

TEST(EnginePreset, EveryOneLoadsAndSetsOnlyKnownKeys) {
  const std::vector<std::string> names = engine_preset_names();
  EXPECT_EQ(names, (std::vector<std::string>{"sglang", "tensorrt-llm", "vllm-v1"}));
  for (const std::string& name : names) {
    const EnginePreset preset = load_engine_preset(name, {});
    EXPECT_FALSE(preset.summary.empty());
    EXPECT_FALSE(preset.version.empty());
    for (const PresetGroup& group : preset.groups) {
      EXPECT_FALSE(group.settings.empty()) << name;
      for (const PresetSetting& setting : group.settings) {
        EXPECT_FALSE(setting.source.empty()) << name << " " << setting.key;
      }
    }
    for (const EngineFlag& flag : preset.flags) {
      EXPECT_NE(flag.key.empty(), flag.no_effect.empty()) << flag.name;
    }
    const Scenario scenario = read({"preset = \"" + name + "\""});
    EXPECT_EQ(scenario.engine.preset, name);
  }
}

// vLLM gives an API server on a GPU from 70 GiB that is no A100 8192 tokens and 1024 sequences, on
// others 2048 and 256; whatever it is asked for, no step has more sequences than tokens.
TEST(EnginePreset, VllmChoosesItsBatchByTheGpu) {
  const auto limits = [](const Scenario& scenario) {
    return std::pair(scenario.engine.batch_tokens_max, scenario.engine.sequences_max);
  };
  const std::string preset = "preset = \"vllm-v1\"";
  EXPECT_EQ(limits(read({preset}, "h100-sxm-8")), (std::pair<std::int64_t, int>(8192, 1024)));
  EXPECT_EQ(limits(read({preset}, "a100-sxm-1")), (std::pair<std::int64_t, int>(2048, 256)));
  EXPECT_EQ(limits(read({preset}, "rtx-4090-1")), (std::pair<std::int64_t, int>(2048, 256)));
  EXPECT_EQ(limits(read({preset, "max_num_batched_tokens = 512"})),
            (std::pair<std::int64_t, int>(512, 512)));
  EXPECT_EQ(read({}).engine.sequences_max, 256) << "without a preset nothing changes";
}

TEST(EnginePreset, SglangCachesStatesOfRecurrencesWithoutOverlap) {
  const auto overlaps = [](const std::string& model, const std::string& engine) {
    const Scenario scenario = read_scenario(
        parse_toml("[model]\nname = \"" + model +
                       "\"\n[cluster]\nname = \"b200-sxm-8\"\n[workload]\n"
                       "arrivals = \"all_at_once\"\nrequests = 1\nprompt_tokens = 1\n"
                       "output_tokens = 1\n[deployment]\ntensor_parallel = 8\n[engine]\n" +
                       engine,
                   "s.toml"),
        {"."});
    const std::string text = to_toml(resolved_scenario(scenario));
    const Scenario again = read_scenario(parse_toml(text, "r.toml"), {"."});
    EXPECT_EQ(again.engine.host.async_scheduling, scenario.engine.host.async_scheduling);
    return scenario.engine.host.async_scheduling;
  };
  EXPECT_TRUE(overlaps("qwen3-235b-a22b", "preset = \"sglang\""));
  EXPECT_FALSE(overlaps("qwen3.5-397b-a17b", "preset = \"sglang\""));
  EXPECT_TRUE(overlaps("qwen3.5-397b-a17b", "preset = \"sglang\"\ndisable_radix_cache = true"));
  EXPECT_TRUE(overlaps("qwen3.5-397b-a17b", "preset = \"vllm-v1\""));
  const std::filesystem::path path = own_folder() / "uncached.toml";
  std::ofstream(path) << "summary = \"ours\"\nbased_on = \"sglang\"\n[engine]\n"
                         "prefix_caching = { value = false, source = \"us\" }\n";
  const std::string own = "preset = \"" + path.string() + "\"\n";
  EXPECT_TRUE(overlaps("qwen3.5-397b-a17b", own));
  EXPECT_FALSE(overlaps("qwen3.5-397b-a17b", own + "prefix_caching = true"));
}

TEST(EnginePreset, AKeyOfTheScenarioWinsByEitherName) {
  const Scenario own = read({"preset = \"sglang\"", "memory_utilization = 0.5"});
  EXPECT_DOUBLE_EQ(own.engine.memory_utilization, 0.5);
  EXPECT_EQ(own.engine.batch_tokens_max, 16384);
  EXPECT_EQ(own.execution.implementation.framework, Framework::sglang);
  const Scenario flags = read({"preset = \"sglang\"", "mem_fraction_static = 0.6",
                               "disable_radix_cache = true", "page_size = 64"});
  EXPECT_DOUBLE_EQ(flags.engine.memory_utilization, 0.6);
  EXPECT_FALSE(flags.engine.prefix_caching);
  EXPECT_EQ(flags.engine.block_tokens, 64);
  EXPECT_EQ(read({"max_num_seqs = 7"}).engine.sequences_max, 7) << "vLLM's, without a preset";
}

TEST(EnginePreset, FlagsWithNamedValuesAreTranslated) {
  EXPECT_EQ(read({"scheduling_policy = \"priority\""}).engine.scheduler.name, "priority");
  EXPECT_EQ(read({"scheduling_policy = \"fcfs\""}).engine.scheduler.name, "vllm_v1");
  EXPECT_EQ(error_of({"scheduling_policy = \"prio\""}),
            "s.toml:11:1: engine.scheduling_policy: unknown value 'prio'; did you mean "
            "'priority'? Known: fcfs, priority");
  const Scenario trtllm =
      read({"preset = \"tensorrt-llm\"", "capacity_scheduler_policy = \"MAX_UTILIZATION\""});
  EXPECT_EQ(std::get<std::string>(trtllm.engine.scheduler.options.find("capacity_policy")->data),
            "max_utilization");
}

TEST(EnginePreset, SwitchesSetWhatTheyMean) {
  EXPECT_TRUE(read({"enforce_eager = true"}).engine.host.cuda_graph_sizes.empty());
  EXPECT_FALSE(
      read({"preset = \"vllm-v1\"", "enforce_eager = false"}).engine.host.cuda_graph_sizes.empty());
  EXPECT_TRUE(read({"preset = \"sglang\"", "disable_cuda_graph = true"})
                  .engine.host.cuda_graph_sizes.empty());
  EXPECT_EQ(error_of({"enforce_eager = 1"}),
            "s.toml:11:1: engine.enforce_eager: must be true or false, not an integer");
}

TEST(EnginePreset, FlagsThatAreSetElsewhereOrMeanNothingSaySo) {
  EXPECT_EQ(error_of({"enable_expert_parallel = true"}),
            "s.toml:11:1: engine.enable_expert_parallel: is set by [deployment] expert_parallel in "
            "a scenario");
  EXPECT_EQ(error_of({"speculative_config = { method = \"ngram\" }"}),
            "s.toml:11:1: engine.speculative_config: is set by [engine.speculative] in a scenario");
  EXPECT_EQ(
      error_of({"swap_space = 4"}),
      "s.toml:11:1: engine.swap_space: has no effect here (V1 recomputes; KV in host memory is "
      "host_kv); omit it");
}

TEST(EnginePreset, TheResolvedFormReadsBackToItself) {
  for (const std::string& name : engine_preset_names()) {
    const Scenario scenario = read({"preset = \"" + name + "\""});
    const std::string text = to_toml(resolved_scenario(scenario));
    EXPECT_EQ(to_toml(resolved_scenario(read_scenario(parse_toml(text, "r.toml"), {"."}))), text);
  }
}

TEST(EnginePreset, ZerosAndFalseSetOverItReadBack) {
  const Scenario scenario =
      read({"preset = \"vllm-v1\"", "async_scheduling = false", "host_step = \"0 s\"",
            "cuda_graph_sizes = []", "cuda_graph_prefill = false"});
  const Scenario again =
      read_scenario(parse_toml(to_toml(resolved_scenario(scenario)), "r.toml"), {"."});
  EXPECT_FALSE(again.engine.host.async_scheduling);
  EXPECT_FALSE(again.engine.host.cuda_graph_prefill);
  EXPECT_TRUE(again.engine.host.cuda_graph_sizes.empty());
  EXPECT_EQ(again.engine.host.step, Seconds(0.0));
}

TEST(EnginePreset, OptionsOfItsSchedulerGoWithIt) {
  const auto options = [](const Scenario& scenario) {
    return std::get<ValueObject>(scenario.engine.scheduler.options.data).size();
  };
  EXPECT_EQ(options(read({"preset = \"vllm-v1\""})), 3U);
  EXPECT_EQ(options(read({"preset = \"vllm-v1\"", "scheduler = \"another\""})), 0U);
}

TEST(EnginePreset, OneThingUnderTwoNamesIsAMistakeThatNamesBothPlaces) {
  EXPECT_EQ(error_of({"sequences_max = 5", "max_num_seqs = 5"}),
            "s.toml:12:1: engine.max_num_seqs: sets the same as sequences_max at s.toml:11:1; "
            "keep one of them");
  EXPECT_EQ(error_of({"preset = \"vllm-v1\"", "enable_prefix_caching = true",
                      "no_enable_prefix_caching = true"}),
            "s.toml:13:1: engine.no_enable_prefix_caching: sets the same as enable_prefix_caching "
            "at s.toml:12:1; keep one of them");
}

TEST(EnginePreset, FlagsOfOtherEnginesAndOfOtherTablesSaySo) {
  EXPECT_EQ(error_of({"preset = \"vllm-v1\"", "max_running_requests = 5"}),
            "s.toml:12:1: engine.max_running_requests: is a flag of SGLang, but the preset is "
            "\"vllm-v1\"; choose preset = \"sglang\", or write max_num_seqs");
  EXPECT_EQ(error_of({"max_batch_size = 5"}),
            "s.toml:11:1: engine.max_batch_size: is a flag of TensorRT-LLM, but no preset is "
            "named; choose preset = \"tensorrt-llm\", or write max_num_seqs");
  EXPECT_EQ(error_of({"tensor_parallel_size = 2"}),
            "s.toml:11:1: engine.tensor_parallel_size: is set by [deployment] tensor_parallel in "
            "a scenario");
}

TEST(EnginePreset, MistakesSpeakOfTheFlagThatWasWritten) {
  EXPECT_EQ(error_of({"max_num_seqs = 0"}),
            "s.toml:11:1: engine.max_num_seqs: must be at least 1, not 0");
  EXPECT_EQ(error_of({"preset = \"sglang\"", "disable_radix_cache = 1"}),
            "s.toml:12:1: engine.disable_radix_cache: must be true or false, not an integer");
  EXPECT_EQ(error_of({"preset = \"vlm-v1\""}),
            "s.toml:11:1: unknown engine preset 'vlm-v1'; did you mean 'vllm-v1'? Known: sglang, "
            "tensorrt-llm, vllm-v1");
}

TEST(EnginePreset, AFileIsAPresetToo) {
  const std::filesystem::path path = own_folder() / "preset.toml";
  std::ofstream(path) << "summary = \"ours\"\nproduct = \"Ours\"\nversion = \"1\"\n[engine]\n"
                         "sequences_max = { value = 3, source = \"us\" }\n[flags]\nmost = "
                         "\"sequences_max\"\n";
  const std::string line = "preset = \"" + path.string() + "\"";
  EXPECT_EQ(read({line}).engine.sequences_max, 3);
  EXPECT_EQ(read({line, "most = 4"}).engine.sequences_max, 4);
  std::ofstream(path) << "summary = \"ours\"\nproduct = \"Ours\"\nversion = \"1\"\n[engine]\n"
                         "sequences_max = 3\nblock_tokens = { value = 3 }\n";
  EXPECT_EQ(error_of({line}), path.string() +
                                  ":5:1: engine.sequences_max: must be { value = …, source = \"…\" "
                                  "}\n" +
                                  path.string() + ":6:1: [engine.block_tokens] lacks 'source'");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace foretoken::engine_preset_test
