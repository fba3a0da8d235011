// What TensorRT-LLM reads from its YAML and the simulation cannot follow is told with its remedy.
#include <gmock/gmock.h>

#include <fstream>

#include "sim/base/json.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/deployments/imported.hpp"

namespace foretoken::options_file_test {
namespace {

using import_test::fate_of;
using import_test::imported;

TEST(OptionsFile, LimitsOfTheCacheAreLeftOutWithTheirRemedy) {
  const auto yaml = own_folder() / "llm.yaml";
  std::ofstream(yaml) << "kv_cache_config:\n  max_tokens: 20000\n  host_cache_size: 1000\n";
  const LaunchedScenario found =
      imported("trtllm-serve Qwen/Qwen3-8B --extra_llm_api_options " + yaml.string());
  EXPECT_EQ(fate_of(found, "--kv_cache_config.max_tokens"), FlagFate::not_modelled);
  EXPECT_EQ(fate_of(found, "--kv_cache_config.host_cache_size"), FlagFate::not_modelled);
  for (const FlagOutcome& outcome : found.flags)
    EXPECT_THAT(outcome.meaning, testing::HasSubstr("set [engine] ")) << outcome.flag;
}

}  // namespace
}  // namespace foretoken::options_file_test
