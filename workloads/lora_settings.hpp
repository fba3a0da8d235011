// Adapters of a fine-tuned model (LoRA) as an engine serves them beside one base model, as keys of
// [engine.lora]: how many at once, how wide, on which products. Which requests want which adapter
// is the workload's (workloads/requests/adapters.hpp).
#pragma once

#include "sim/base/keys.hpp"

namespace foretoken {

/// attention: the products that make queries, keys and values, and the one behind attention. all:
/// those of dense MLPs and shared experts too. experts: those of every routed expert as well.
enum class LoraTargets { attention, all, experts };
template <>
struct EnumNames<LoraTargets> {
  static constexpr auto names = std::to_array<std::string_view>({"attention", "all", "experts"});
};

struct LoraSettings {
  std::int64_t adapters_max = 1;   // in GPU memory, so in a step
  std::int64_t host_adapters = 0;  // in the host's memory; 0 = adapters_max
  int rank = 16;                   // that slots and kernels are made for
  LoraTargets targets = LoraTargets::all;
  BytesPerSecond disk_bandwidth{2e9};
  SourcePosition position;  // of the table

  [[nodiscard]] std::int64_t held_by_host() const {
    return host_adapters > 0 ? host_adapters : adapters_max;
  }
};

const Keys<LoraSettings>& lora_keys();

}  // namespace foretoken
