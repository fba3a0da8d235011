#include "sim/scenario/engine_choices.hpp"

#include "sim/scenario/tables.hpp"

namespace foretoken {

std::string version_of(const Scenario& scenario) {
  if (scenario.engine.preset.empty()) return "";
  const EnginePreset preset = preset_of(scenario);
  return preset.framework() == scenario.execution.implementation.framework ? preset.version : "";
}

ExchangeSite exchange_site(const Transformer& model, const ParallelLayout& layout,
                           const GpuSpec& gpu) {
  return {.gpu = gpu.name,
          .ranks = layout.stage_ranks(),
          .topk = model.moe ? model.moe->topk : 1,
          .has_whole_experts = layout.expert == layout.stage_ranks()};
}

SettledExchange exchange_of(const Scenario& scenario) {
  const std::string version = version_of(scenario);
  return settle_exchange(
      scenario.deployment.expert_exchange, {scenario.execution.implementation.framework, version},
      exchange_site(scenario.model, scenario.deployment.layout, scenario.cluster.gpu));
}

}  // namespace foretoken
