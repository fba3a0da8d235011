#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// [cluster.scale]: factors by the name of what they scale.
void read_scale(TableReader& cluster, Scenario& scenario) {
  const Value* factors = cluster.find_table("scale");
  if (factors == nullptr) return;
  TableReader table(*factors, cluster.diagnostics(), "cluster.scale");
  for (const auto& [name, value] : std::get<ValueObject>(factors->data)) {
    double factor = 1;
    if (table.read(name, factor)) scenario.cluster_scale.emplace_back(name, factor);
  }
}

std::optional<Value> scale_value(const Scenario& scenario) {
  if (scenario.cluster_scale.empty()) return std::nullopt;
  Value factors;
  for (const auto& [name, factor] : scenario.cluster_scale) factors.set(name, factor);
  return factors;
}

const Keys<Scenario>& cluster_keys() {
  static const Keys<Scenario> keys = {
      {"name",
       &Scenario::cluster_name,
       {.allowed = "a cluster's or GPU's name or path", .required = true},
       "Machines that serve (foretoken cluster list): GPUs, nodes and network."},
      {"network",
       &Scenario::network,
       {.quiet = true},
       "How collectives and sends travel: auto (simulated flows where others may be on their "
       "links, "
       "else their price), memoised (prices throughout), flows (flows throughout) or every_flow "
       "(flows step by step; slow, to check the others)."},
      {{.name = "scale",
        .type = "table of numbers",
        .fallback = "not set",
        .allowed = "0.01 to 100",
        .meaning = fmt::format("Factors on what the hardware is, to ask what parts that nobody "
                               "sells would be worth: {{ dram_bandwidth = 1.25 }}. Of {}.",
                               fmt::join(scalable_quantities(), ", "))},
       read_scale,
       scale_value},
  };
  return keys;
}

void scale(const Value* factors, TableReader& table, Scenario& scenario) {
  for (const ScaledQuantity& scaled : scenario.cluster_scale) {
    const Value* factor = factors->find(scaled.first);
    table.diagnostics().attempt([&] { scale_cluster(scenario.cluster, scaled, factor->position); });
  }
}

}  // namespace

void read_cluster_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  cluster_keys().read(table, scenario);
  if (!scenario.cluster_name.empty()) {
    scenario.cluster_position = table.position("name");
    scenario.cluster_name = resolve_path(scenario.cluster_name, scenario.cluster_position, options);
    const bool is_known = table.diagnostics().attempt(
        [&] { scenario.cluster = load_cluster(scenario.cluster_name, scenario.cluster_position); });
    if (is_known) scale(table.find("scale"), table, scenario);
  }
  finish(table);
}

Value resolved_cluster_table(const Scenario& scenario) { return cluster_keys().table(scenario); }

KeyTable cluster_key_table() {
  return {"cluster", "", "Hardware that serves.", cluster_keys().notes()};
}

}  // namespace foretoken
