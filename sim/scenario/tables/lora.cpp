#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// vLLM, whose fused experts alone have adapters: "EP support for Fused MoE LoRA is not implemented
/// yet" (lora/layers/fused_moe.py).
void check_expert_adapters(const Scenario& scenario, Diagnostics& diagnostics) {
  if (!scenario.execution.lora || scenario.execution.lora->targets != LoraTargets::experts) return;
  const auto refuse = [&](const std::string& why) {
    diagnostics.add(scenario.execution.lora->position, "engine.lora.targets: \"experts\" " + why);
  };
  const ParallelLayout& layout = scenario.deployment.layout;
  if (!scenario.model.moe) return refuse("has no effect: the model has no experts; write \"all\"");
  if (layout.expert > 1 || layout.data_parallel_attention > 1) {
    refuse(
        "needs every GPU of a replica to hold a part of each expert, as in vLLM: omit "
        "expert_parallel and data_parallel_attention, or write \"all\"");
  }
}

}  // namespace

void read_lora_table(TableReader& engine, Scenario& scenario) {
  const Value* given = engine.find_table("lora");
  if (given == nullptr) return;
  TableReader table(*given, engine.diagnostics(), "engine.lora");
  LoraSettings& lora = scenario.execution.lora.emplace();
  lora_keys().read(table, lora);
  lora.position = given->position;
  table.expect("host_adapters", lora.host_adapters == 0 || lora.host_adapters >= lora.adapters_max,
               fmt::format("{} is below adapters_max = {}: the host keeps those on the GPU too",
                           lora.host_adapters, lora.adapters_max));
  finish(table);
  engine.expect("lora", scenario.execution.overlap == Overlap::none,
                "cannot be combined with overlap = \"two_batch\": separate adapters for each half "
                "of a step are not modelled");
}

void check_adapters(const Scenario& scenario, Diagnostics& diagnostics) {
  check_expert_adapters(scenario, diagnostics);
  if (scenario.workload->adapters() == 0 || scenario.execution.lora) return;
  diagnostics.add(scenario.engine_position,
                  fmt::format("requests ask for {} adapters ([workload.adapters]), but the engine "
                              "serves none; add [engine.lora] with adapters_max and rank",
                              scenario.workload->adapters()));
}

KeyTable lora_key_table() {
  return {
      "engine.lora", "",
      "LoRA adapters served with the model. Which requests use them is set in [workload.adapters].",
      lora_keys().notes()};
}

}  // namespace foretoken
