// Any bytes as a launch script or a manifest: importing ends in a scenario's tables, in which every
// flag has a fate, or in a ConfigError; and what was understood can be written down again.
#include <cstdint>
#include <string>

#include "sim/deployments/deployment_format.hpp"
#include "sim/deployments/launched_scenario.hpp"
#include "tests/fuzz/target.hpp"

FORETOKEN_FUZZ(deployment)(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  static const DeploymentFormatRegistry formats = deployment_format_registry();
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const LaunchedDeployment deployment = parse_deployment(text, "fuzz", "/dev/null");
    for (const auto& entry : formats.entries()) {
      const auto format = entry.make();
      if (format->obstacle(deployment).empty()) static_cast<void>(format->write(deployment));
    }
    static_cast<void>(launched_scenario(deployment, "qwen3-8b", "h100-sxm-8"));
  } catch (const ConfigError&) {
    return 0;
  }
  return 0;
}
