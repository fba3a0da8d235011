// What `list` and `show` print with --json: specifications as objects, plain numbers in base units
// that the key's suffix names.
#pragma once

#include "hardware/cluster.hpp"
#include "models/transformer.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/value.hpp"
#include "sim/scenario/engine_preset.hpp"

namespace foretoken {

/// Rates of the whole part, dense; dtypes without a tensor path are left out.
Value gpu_value(const GpuSpec& gpu);
/// Sizes in bf16, and as published where that differs.
Value model_value(const Transformer& model);
/// Nodes, links and fabric, without the rates that follow from them.
Value cluster_value(const ClusterSpec& cluster);
/// Every setting with its condition and source, and the engine's flags.
Value preset_value(const EnginePreset& preset);

/// Name and summary of every variant.
template <class Factory>
Value registry_value(const Registry<Factory>& registry) {
  ValueArray entries;
  for (const auto& entry : registry.entries()) {
    entries.emplace_back(ValueObject{{"name", entry.name}, {"summary", entry.summary}});
  }
  return entries;
}

}  // namespace foretoken
