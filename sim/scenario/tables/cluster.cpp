#include "sim/scenario/tables.hpp"

namespace foretoken {

void read_cluster_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  if (table.require("name", scenario.cluster_name)) {
    scenario.cluster_name = resolve_path(scenario.cluster_name, options.base_folder);
    scenario.cluster_position = table.position("name");
    table.diagnostics().attempt(
        [&] { scenario.cluster = load_cluster(scenario.cluster_name, scenario.cluster_position); });
  }
  table.finish();
}

Value resolved_cluster_table(const Scenario& scenario) {
  Value cluster;
  cluster.set("name", scenario.cluster_name);
  return cluster;
}

}  // namespace foretoken
