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

}  // namespace
}  // namespace foretoken::kv_transfer_config_test
