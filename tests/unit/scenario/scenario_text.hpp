// The least scenario that can be read, with changes, and what is said of its mistakes.
#pragma once

#include "sim/base/change.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken::scenario_text {

inline constexpr const char* minimal = R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8"
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 10
prompt_tokens = 100
output_tokens = 10
)";

inline Scenario read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Value root = parse_toml(text, "s.toml");
  apply_changes(root, parse_changes(overrides));
  return read_scenario(root, {"."});
}

inline std::string error_of(const std::string& text,
                            const std::vector<std::string>& overrides = {}) {
  try {
    (void)read(text, overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace foretoken::scenario_text
