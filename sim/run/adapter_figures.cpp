#include "sim/run/adapter_figures.hpp"

namespace foretoken {

void add_adapters(const Scenario& shown, const DeployedPools& pools, Report& report) {
  if (!shown.execution.lora) return;
  AdapterTotals totals;
  for (std::size_t pool = 0; pool < pools.specs().size(); ++pool)
    totals += pools.engine(pool).adapters();
  AdapterFigures& adapters = report.adapters.emplace(AdapterFigures{});
  adapters.asked = shown.workload->adapters();
  adapters.slots = shown.execution.lora->adapters_max;
  if (totals.steps > 0)
    adapters.mean_step = static_cast<double>(totals.uses) / static_cast<double>(totals.steps);
  adapters.loads = totals.loads;
  adapters.from_disk = totals.from_disk;
  for (const auto& [family, time] : pools.totals().time_by)
    if (family == "adapter_load") adapters.wait_s += time.value();
}

}  // namespace foretoken
