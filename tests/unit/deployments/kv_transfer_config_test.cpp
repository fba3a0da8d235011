// vLLM's --kv-transfer-config, written and read.

#include "sim/deployments/kv_transfer_config.hpp"

#include <gtest/gtest.h>

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
