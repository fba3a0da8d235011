#include "sim/deployments/kv_transfer_config.hpp"

#include <string>

#include "sim/base/nearest_name.hpp"

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

std::optional<KvLoadFailure> kv_load_failure_in_kv_transfer_config(const Value& config) {
  const Value* policy = config.is_object() ? config.find("kv_load_failure_policy") : nullptr;
  if (policy == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string>(&policy->data);
  const auto known = text == nullptr ? std::nullopt : parse_enum<KvLoadFailure>(*text);
  if (known) return known;
  const auto names = EnumNames<KvLoadFailure>::names;
  throw ConfigError(
      config.position,
      text == nullptr
          ? std::string("--kv-transfer-config: kv_load_failure_policy must be fail or recompute")
          : "--kv-transfer-config: " + unknown_name_message("kv_load_failure_policy", *text,
                                                            {names.begin(), names.end()}));
}

}  // namespace foretoken
