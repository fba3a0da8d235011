#include "sim/scenario/tables.hpp"

namespace foretoken {

void read_startup_table(TableReader table, Scenario& scenario) {
  startup_keys().read(table, scenario.startup);
  finish(table);
}

Value resolved_startup_table(const Scenario& scenario) {
  const bool is_usual = scenario.startup == StartupSettings();
  return is_usual ? Value() : startup_keys().table(scenario.startup);
}

KeyTable startup_key_table() {
  return {"startup", "",
          "How long a replica takes from the decision to start it to its first request.",
          startup_keys().notes()};
}

void read_autoscaler_table(TableReader table, Scenario& scenario) {
  AutoscalerSettings scaling;
  autoscaler_keys().read(table, scaling);
  for (const KeyNote& note : autoscaler_keys().notes()) {
    table.expect(
        note.name, table.find(note.name) == nullptr || has_meaning(note.name, scaling.policy),
        fmt::format("has no effect with policy = \"{}\"; remove it", enum_name(scaling.policy)));
  }
  const bool plans = scaling.policy == ScalingPolicyKind::planner;
  for (const char* key : {"metric", "target", "capacity"}) {
    if (has_meaning(key, scaling.policy)) (void)table.has(key);
  }
  table.expect("min", scaling.min > 0 || scaling.policy == ScalingPolicyKind::keda,
               "is 0, and only policy = \"keda\" wakes replicas that sleep; keep 1");
  table.expect("max", scaling.max >= scaling.min,
               fmt::format("is {}, below min = {}; swap them", scaling.max, scaling.min));
  const bool is_share = !plans && (scaling.metric == ScalingMetric::utilization ||
                                   scaling.metric == ScalingMetric::kv);
  table.expect("target", !is_share || scaling.target <= 1.0,
               "is a share of a replica: above 0, at most 1");
  const bool counts_waiting =
      scaling.metric == ScalingMetric::queue || scaling.metric == ScalingMetric::outstanding;
  table.expect(
      "metric", scaling.min > 0 || counts_waiting,
      fmt::format(
          "is {}, which does not count requests that wait while all replicas sleep; use queue "
          "or outstanding, or keep min = 1",
          enum_name(scaling.metric)));
  finish(table);
  scenario.autoscaler = scaling;
}

Value resolved_autoscaler_table(const Scenario& scenario) {
  return scenario.autoscaler ? autoscaler_keys().table(*scenario.autoscaler) : Value();
}

KeyTable autoscaler_key_table() {
  return {"autoscaler", "",
          "Starts and stops replicas by load. With pools: [pool.NAME.autoscaler].",
          autoscaler_keys().notes()};
}

KeyTable autoscaler_rates_key_table() {
  return {"[autoscaler.up]", "policy = \"hpa\" or \"keda\"",
          "How fast replicas may be added, or removed ([[autoscaler.down]]); one table per rule.",
          scaling_rate_notes()};
}

void check_autoscaler(const Scenario& scenario, Diagnostics& diagnostics) {
  if (!scenario.autoscaler) return;
  const bool may_never_wake = scenario.autoscaler->min == 0 && scenario.autoscaler->activation > 0;
  const bool is_cut =
      scenario.run.horizon || scenario.workload->resolved().find("timeout") != nullptr;
  if (may_never_wake && !is_cut) {
    diagnostics.add(scenario.deployment_position,
                    "autoscaler.activation: requests too few to wake a replica would wait for "
                    "ever; give [run] horizon or [workload] timeout");
  }
  const auto& [min, max] = std::pair(scenario.autoscaler->min, scenario.autoscaler->max);
  const int replicas = scenario.deployment.replicas;
  if (replicas >= min && replicas <= max) return;
  diagnostics.add(scenario.deployment_position,
                  fmt::format("replicas = {}, the number at the start, is not within the "
                              "autoscaler's min = {} and max = {}",
                              replicas, min, max));
}

}  // namespace foretoken
