#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

void read_scale(const Value& factors, Diagnostics& diagnostics, Scenario& scenario) {
  TableReader table(factors, diagnostics, "cluster.scale");
  for (const auto& [name, value] : std::get<ValueObject>(factors.data)) {
    double factor = 1;
    if (!table.read(name, factor)) continue;
    scenario.cluster_scale.emplace_back(name, factor);
    diagnostics.attempt([&] {
      scale_cluster(scenario.cluster, scenario.cluster_scale.back(), table.position(name));
    });
  }
}

}  // namespace

void read_cluster_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  if (table.require("name", scenario.cluster_name)) {
    scenario.cluster_position = table.position("name");
    scenario.cluster_name = resolve_path(scenario.cluster_name, scenario.cluster_position, options);
    const Value* factors = table.find_table("scale");
    const bool is_known = table.diagnostics().attempt(
        [&] { scenario.cluster = load_cluster(scenario.cluster_name, scenario.cluster_position); });
    if (is_known && factors != nullptr) read_scale(*factors, table.diagnostics(), scenario);
  }
  table.read("network", scenario.network);
  table.finish();
}

Value resolved_cluster_table(const Scenario& scenario) {
  Value cluster;
  cluster.set("name", scenario.cluster_name);
  if (scenario.network != NetworkMode::automatic)
    cluster.set("network", std::string(enum_name(scenario.network)));
  if (scenario.cluster_scale.empty()) return cluster;
  Value factors;
  for (const auto& [name, factor] : scenario.cluster_scale) factors.set(name, factor);
  cluster.set("scale", std::move(factors));
  return cluster;
}

}  // namespace foretoken
