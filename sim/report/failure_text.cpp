// Why requests fail, as a person reads it. report.json has the names.
#include <array>
#include <utility>

#include "sim/report/report.hpp"

namespace foretoken {
namespace {

constexpr auto reason_texts = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"context_length", "prompt + output exceed the context"},
     {"kv_cache", "too long for the KV cache"},
     {"step_tokens", "prompt too long for a step, and not chunked"},
     {"replica_failures", "lost with their replicas too often"},
     {"no_replica", "no replica left to serve them"},
     {"tenant_limit", "beyond their tenant's limit"},
     {"shed", "no room in the gateway's queue"}});

}  // namespace

std::string_view failure_text(std::string_view reason) {
  for (const auto& [name, text] : reason_texts) {
    if (name == reason) return text;
  }
  return reason;
}

}  // namespace foretoken
