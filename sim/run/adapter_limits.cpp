#include "sim/run/adapter_limits.hpp"

#include <algorithm>

#include "workloads/generator.hpp"

namespace foretoken {

/// Every rank copies its part over its own link; a stage's parts differ by its layers, and the
/// largest decides. The file on disk holds all.
AdapterLimits adapter_limits(const Scenario& scenario) {
  if (!scenario.execution.lora) return {};
  const LoraSettings& lora = *scenario.execution.lora;
  const ParallelLayout& layout = scenario.deployment.layout;
  const NodeSpec& node = scenario.cluster.node;
  Bytes part;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const StageProgram program(scenario.model, layout, scenario.execution, stage);
    part = std::max(part, program.adapter_bytes());
  }
  const Bytes whole = StageProgram(scenario.model, {}, scenario.execution, 0).adapter_bytes();
  return {lora.adapters_max, lora.held_by_host(),
          node.host_link_latency + part / (node.host_link_efficiency * node.host_link_bandwidth),
          whole / lora.disk_bandwidth};
}

void expect_adapter_scheduler(const Scenario& scenario, const Scheduler& scheduler) {
  if (!scenario.execution.lora || scheduler.minds_adapters()) return;
  throw ConfigError(
      scenario.execution.lora->position,
      fmt::format("engine.lora: scheduler \"{}\" does not support adapters; \"vllm_v1\" does",
                  scenario.engine.scheduler.name));
}

}  // namespace foretoken
