// The report's figures of KV caches that were handed over.
#pragma once

#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Nothing where prompts and outputs are computed by the same replicas.
void add_handoffs(const Scenario& scenario, const Timeline& timeline, Report& report);

}  // namespace foretoken
