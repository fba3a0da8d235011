// vLLM's --kv-transfer-config, written and read.

#include "sim/deployments/kv_transfer_config.hpp"

#include <gmock/gmock.h>

#include "sim/base/toml.hpp"
#include "sim/deployments/deployment_format.hpp"
#include "sim/deployments/launched_scenario.hpp"
#include "sim/deployments/scenario_servers.hpp"

namespace foretoken::kv_transfer_config_test {
namespace {

TEST(KvTransferConfig, SaysTheRoleAndWhatIsDoneAboutLostCaches) {
  HandoffSettings handoff;
  const Value plain = kv_transfer_config(PoolRole::prefill, handoff);
  EXPECT_EQ(plain.find("kv_load_failure_policy"), nullptr);
  EXPECT_EQ(role_in_kv_transfer_config(plain), PoolRole::prefill);
  handoff.kv_load_failure = KvLoadFailure::recompute;
  const Value config = kv_transfer_config(PoolRole::decode, handoff);
  EXPECT_EQ(std::get<std::string>(config.find("kv_load_failure_policy")->data), "recompute");
  EXPECT_EQ(role_in_kv_transfer_config(config), PoolRole::decode);
}

TEST(KvTransferConfig, OfBothRolesSaysNone) {
  EXPECT_EQ(role_in_kv_transfer_config(ValueObject{{"kv_role", "kv_both"}}), std::nullopt);
  EXPECT_EQ(role_in_kv_transfer_config(ValueObject{{"kv_connector", "x"}}), std::nullopt);
  EXPECT_EQ(role_in_kv_transfer_config(Value("kv_producer")), std::nullopt);
}

TEST(KvTransferConfig, ReadsWhatIsDoneAboutLostCaches) {
  HandoffSettings handoff;
  EXPECT_EQ(kv_load_failure_in_kv_transfer_config(kv_transfer_config(PoolRole::decode, handoff)),
            std::nullopt);
  handoff.kv_load_failure = KvLoadFailure::recompute;
  EXPECT_EQ(kv_load_failure_in_kv_transfer_config(kv_transfer_config(PoolRole::decode, handoff)),
            KvLoadFailure::recompute);
  EXPECT_EQ(kv_load_failure_in_kv_transfer_config(ValueObject{{"kv_load_failure_policy", "fail"}}),
            KvLoadFailure::fail);
}

// Of prefill and decode servers, in every format that can have both.
TEST(KvTransferConfig, ThePolicyComesBackFromEveryFormat) {
  const Scenario scenario = read_scenario(parse_toml(R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-8"
[deployment]
kv_load_failure = "recompute"
[pool.prefill]
role = "prefill"
engine = { preset = "vllm-v1" }
[pool.decode]
role = "decode"
engine = { preset = "vllm-v1" }
[workload]
arrivals = "all_at_once"
requests = 20
prompt_tokens = 1000
output_tokens = 100
)",
                                                     "test.toml"),
                                          {".", false});
  const LaunchedDeployment deployment = servers_of(scenario);
  const DeploymentFormatRegistry formats = deployment_format_registry();
  for (const auto& entry : formats.entries()) {
    const auto format = entry.make();
    if (entry.name == "production_stack") {
      EXPECT_THAT(format->obstacle(deployment), ::testing::HasSubstr("LMCache's settings"));
      continue;
    }
    ASSERT_EQ(format->obstacle(deployment), "") << entry.name;
    const std::string text = format->write(deployment);
    const LaunchedScenario again =
        launched_scenario(parse_deployment(text, format->file_name(), ""), "", "h100-sxm-8");
    const Value* fleet = again.tables.find("deployment");
    const Value* policy = fleet != nullptr ? fleet->find("kv_load_failure") : nullptr;
    ASSERT_NE(policy, nullptr) << entry.name << ":\n" << text;
    EXPECT_EQ(std::get<std::string>(policy->data), "recompute") << entry.name;
  }
}

TEST(KvTransferConfig, RefusesOtherPolicies) {
  const auto message = [](Value policy) {
    try {
      kv_load_failure_in_kv_transfer_config(
          ValueObject{{"kv_load_failure_policy", std::move(policy)}});
    } catch (const ConfigError& error) {
      return error.diagnostics().front().message;
    }
    return std::string("none");
  };
  EXPECT_EQ(message("recompte"),
            "--kv-transfer-config: unknown kv_load_failure_policy 'recompte'; did you mean "
            "'recompute'? Known: fail, recompute");
  EXPECT_EQ(message(true),
            "--kv-transfer-config: kv_load_failure_policy must be fail or recompute");
}

}  // namespace
}  // namespace foretoken::kv_transfer_config_test
