#include "sim/prices/all_reduce_of.hpp"

#include <algorithm>

#include "kernels/communication/engine_all_reduce.hpp"
#include "sim/scenario/engine_preset.hpp"

namespace foretoken {
namespace {

/// "" where the preset is of another engine than the one whose kernels run.
std::string version_of(const Scenario& scenario) {
  if (scenario.engine.preset.empty()) return "";
  const EnginePreset preset = load_engine_preset(scenario.engine.preset, {});
  const std::string_view framework = enum_name(scenario.execution.implementation.framework);
  for (const PresetSetting& setting :
       preset.settings(scenario.cluster.gpu, scenario.deployment.layout)) {
    const auto* name = std::get_if<std::string>(&setting.value.data);
    if (setting.key == "framework" && name != nullptr && *name == framework) return preset.version;
  }
  return "";
}

}  // namespace

std::string all_reduce_of(const Scenario& scenario) {
  return engine_all_reduce(scenario.deployment.all_reduce,
                           scenario.execution.implementation.framework, version_of(scenario));
}

}  // namespace foretoken
