// What launch lines and manifests become, for tests of reading them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/base/json.hpp"
#include "sim/deployments/deployment_format.hpp"
#include "sim/deployments/launched_scenario.hpp"

namespace foretoken::import_test {

inline LaunchedScenario imported(const std::string& text,
                                 const std::string& cluster = "h100-sxm-8") {
  return launched_scenario(parse_deployment(text, "launch command", ""), "", cluster);
}

inline std::string table(const LaunchedScenario& scenario, const std::string& name) {
  return to_json(*scenario.tables.find(name), -1);
}

inline std::string failure(const std::string& text, const std::string& cluster = "h100-sxm-8") {
  try {
    imported(text, cluster);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

inline FlagFate fate_of(const LaunchedScenario& scenario, const std::string& flag) {
  for (const FlagOutcome& outcome : scenario.flags)
    if (outcome.flag == flag) return outcome.fate;
  ADD_FAILURE() << flag << " was ignored";
  return FlagFate::unknown;
}

}  // namespace foretoken::import_test
