// The preset beneath [engine], and what its conditions ask of a scenario.
#include <algorithm>

#include "sim/scenario/tables.hpp"

namespace foretoken {

PresetPlace preset_place(const Scenario& scenario) {
  const EngineSettings& engine = scenario.engine;
  const Value* chunks = engine.scheduler.options.find("chunked_prefill");
  const bool* is_set = chunks == nullptr ? nullptr : std::get_if<bool>(&chunks->data);
  return {scenario.cluster.gpu,
          scenario.deployment.layout,
          engine.speculative.has_value(),
          std::ranges::any_of(scenario.model.kinds,
                              [](const LayerKind& kind) { return kind.state.has_value(); }),
          engine.prefix_caching,
          is_set == nullptr || *is_set,
          engine.context_max > 0 ? engine.context_max : scenario.model.context_max};
}

EnginePreset preset_of(const Scenario& scenario) {
  return load_engine_preset(scenario.engine.preset, {}).of_version(scenario.engine.version, {});
}

}  // namespace foretoken
