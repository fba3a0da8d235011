#include "sim/deployments/kv_transfer_config.hpp"

#include <string>

namespace foretoken {

Value kv_transfer_config(PoolRole role, const HandoffSettings& handoff) {
  Value config =
      ValueObject{{"kv_connector", "NixlConnector"},
                  {"kv_role", role == PoolRole::prefill ? "kv_producer" : "kv_consumer"}};
  if (handoff.kv_load_failure != KvLoadFailure::fail)
    config.set("kv_load_failure_policy", std::string(enum_name(handoff.kv_load_failure)));
  return config;
}

std::optional<PoolRole> role_in_kv_transfer_config(const Value& config) {
  const Value* kind = config.is_object() ? config.find("kv_role") : nullptr;
  if (kind == nullptr || !kind->is_string()) return std::nullopt;
  const std::string& text = std::get<std::string>(kind->data);
  if (text == "kv_producer") return PoolRole::prefill;
  return text == "kv_consumer" ? std::optional(PoolRole::decode) : std::nullopt;
}

}  // namespace foretoken
