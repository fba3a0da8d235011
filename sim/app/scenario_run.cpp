#include "sim/app/scenario_run.hpp"

#include "sim/app/run_overrides.hpp"
#include "sim/run/run.hpp"

namespace foretoken {

Value run_without_timeline(const std::string& scenario, const std::vector<std::string>& overrides,
                           const RunRequest& request) {
  Report report = run_scenario(load_scenario(scenario, with(overrides, request)), Catalogs());
  report.timeline.clear();
  return report_value(report);
}

}  // namespace foretoken
