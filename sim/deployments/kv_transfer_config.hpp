// vLLM's --kv-transfer-config: which part of a request a server has, and what it does about KV
// caches that do not come. Connectors and their own settings are not told apart.
#pragma once

#include <optional>

#include "sim/base/value.hpp"
#include "sim/serving/settings/handoff_settings.hpp"

namespace foretoken {

/// For a server of this role.
Value kv_transfer_config(PoolRole role, const HandoffSettings& handoff);

/// The role that it gives a server; nullopt: it says none, or both.
std::optional<PoolRole> role_in_kv_transfer_config(const Value& config);

/// Its kv_load_failure_policy; nullopt: it says none, and vLLM's default is fail. Throws
/// ConfigError for another word than vLLM knows.
std::optional<KvLoadFailure> kv_load_failure_in_kv_transfer_config(const Value& config);

}  // namespace foretoken
