// The format of recurrent states in launch lines: read, and written where the engine would not
// choose it by itself.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "sim/base/toml.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/scenario_servers.hpp"
#include "tests/unit/deployments/imported.hpp"

namespace foretoken::state_formats_test {
namespace {

using import_test::imported;
using import_test::table;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StateFormats, AreReadFromLaunchLines) {
  EXPECT_THAT(table(imported("vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 "
                             "--mamba-ssm-cache-dtype float32"),
                    "model"),
              HasSubstr(R"("state_dtype":"fp32")"));
  EXPECT_THAT(table(imported("vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 "
                             "--mamba-ssm-cache-dtype auto"),
                    "model"),
              Not(HasSubstr("state_dtype")));
  EXPECT_THAT(table(imported("python3 -m sglang.launch_server --model-path "
                             "Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4 --mamba-ssm-dtype bfloat16"),
                    "model"),
              HasSubstr(R"("state_dtype":"bf16")"));
}

/// What the exported server is told of states; "" = nothing.
std::string told(const std::string& preset, const std::string& format) {
  const Scenario scenario = read_scenario(
      parse_toml(fmt::format("[model]\nname = \"qwen3-next-80b-a3b\"\nstate_dtype = \"{}\"\n"
                             "[cluster]\nname = \"h100-sxm-8\"\n"
                             "[deployment]\ntensor_parallel = 4\n[engine]\npreset = \"{}\"\n"
                             "[workload]\narrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 20\n"
                             "prompt_tokens = 1000\noutput_tokens = 100\n",
                             format, preset),
                 "test.toml"),
      {".", false});
  const LaunchedDeployment deployment = servers_of(scenario);
  for (const char* flag : {"mamba_ssm_cache_dtype", "mamba_ssm_dtype"}) {
    const Value* value = deployment.servers.front().find(flag);
    if (value != nullptr) return fmt::format("{} {}", flag, launch_value_text(*value));
  }
  return "";
}

TEST(StateFormats, AreWrittenWhereTheEngineWouldChooseOtherwise) {
  EXPECT_EQ(told("vllm-v1", "bf16"), "");
  EXPECT_EQ(told("vllm-v1", "fp32"), "mamba_ssm_cache_dtype float32");
  EXPECT_EQ(told("sglang", "fp32"), "");
  EXPECT_EQ(told("sglang", "bf16"), "mamba_ssm_dtype bfloat16");
}

}  // namespace
}  // namespace foretoken::state_formats_test
