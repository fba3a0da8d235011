// Adapters (LoRA) as deployed: how many a GPU and a host keep, and what loading one takes. Internal
// to sim/run.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "sim/serving/adapter_cache.hpp"
#include "sim/serving/scheduler.hpp"

namespace foretoken {

/// Of an attention rank; nothing without adapters.
AdapterLimits adapter_limits(const Scenario& scenario);

/// Throws ConfigError at [engine.lora] if there is one and the scheduler does not know of adapters.
void expect_adapter_scheduler(const Scenario& scenario, const Scheduler& scheduler);

}  // namespace foretoken
