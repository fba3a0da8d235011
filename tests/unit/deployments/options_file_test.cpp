// What TensorRT-LLM reads from its YAML and the simulation cannot follow is told with its remedy,
// and what options say wrong is told as theirs.
#include <gmock/gmock.h>

#include <fstream>

#include "sim/base/json.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/deployments/imported.hpp"

namespace foretoken::options_file_test {
namespace {

using import_test::fate_of;
using import_test::imported;

TEST(OptionsFile, LimitsOfTheCacheAreTakenOrLeftOutWithTheirRemedy) {
  const auto yaml = own_folder() / "llm.yaml";
  std::ofstream(yaml) << "kv_cache_config:\n  max_tokens: 20000\n  host_cache_size: 1000\n";
  const LaunchedScenario found =
      imported("trtllm-serve Qwen/Qwen3-8B --extra_llm_api_options " + yaml.string());
  EXPECT_EQ(fate_of(found, "--max_tokens"), FlagFate::set);
  EXPECT_EQ(fate_of(found, "--kv_cache_config.host_cache_size"), FlagFate::not_modelled);
  ASSERT_EQ(found.flags.size(), 2U);
  EXPECT_EQ(found.flags[0].meaning, "[engine] kv_tokens_max = 20000");
  EXPECT_THAT(found.flags[1].meaning, testing::HasSubstr("set [engine] "));
}

/// What is said of names that the user gave beside the launch.
std::string said(const std::string& model, const std::string& cluster) {
  try {
    read_scenario(
        launched_scenario(parse_deployment("vllm serve Qwen/Qwen3-8B", "line", ""), model, cluster)
            .tables,
        {".", false});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(LaunchOptions, NamesThatTheUserGaveAreBlamedOnTheirOption) {
  EXPECT_THAT(said("nosuch", "l40s-1"), testing::StartsWith("--model: unknown model 'nosuch'"));
  EXPECT_THAT(said("", "nosuch"), testing::HasSubstr("--cluster: unknown cluster 'nosuch'"));
}

}  // namespace
}  // namespace foretoken::options_file_test
