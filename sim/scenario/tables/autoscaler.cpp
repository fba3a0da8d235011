#include "sim/scenario/tables.hpp"

namespace foretoken {

void read_startup_table(TableReader table, Scenario& scenario) {
  StartupSettings& startup = scenario.startup;
  table.read("time", startup.time);
  table.expect("time", startup.time >= Seconds(0.0), "must not be negative");
  BytesPerSecond bandwidth;
  if (table.read("weights_bandwidth", bandwidth)) startup.weights_bandwidth = bandwidth;
  table.expect("weights_bandwidth", !startup.weights_bandwidth || bandwidth.value() > 0.0,
               "must be above 0, for example \"5 GB/s\" from a disk");
  table.read("is_cold", startup.is_cold);
  table.finish();
}

Value resolved_startup_table(const Scenario& scenario) {
  const StartupSettings& startup = scenario.startup;
  Value table;
  if (startup == StartupSettings()) return table;
  table.set("time", exact_text(startup.time));
  if (startup.weights_bandwidth) {
    table.set("weights_bandwidth", exact_text(*startup.weights_bandwidth));
  }
  table.set("is_cold", startup.is_cold);
  return table;
}

void read_autoscaler_table(TableReader table, Scenario& scenario) {
  AutoscalerSettings scaling;
  table.read("min", scaling.min);
  table.expect("min", scaling.min >= 1, "must be at least 1");
  table.require("max", scaling.max);
  table.expect("max", scaling.max >= scaling.min,
               fmt::format("is {}, below min = {}; swap them", scaling.max, scaling.min));
  table.require("metric", scaling.metric);
  table.require("target", scaling.target);
  table.expect("target", scaling.target > 0.0, "must be above 0");
  const bool is_share =
      scaling.metric == AutoscalerMetric::utilization || scaling.metric == AutoscalerMetric::kv;
  table.expect("target", !is_share || scaling.target <= 1.0,
               "is a share of a replica: above 0, at most 1");
  table.read("interval", scaling.interval);
  table.expect("interval", scaling.interval >= Seconds(1e-3), "must be at least 1 ms");
  table.read("cooldown_up", scaling.cooldown_up);
  table.expect("cooldown_up", scaling.cooldown_up >= Seconds(0.0), "must not be negative");
  table.read("cooldown_down", scaling.cooldown_down);
  table.expect("cooldown_down", scaling.cooldown_down >= Seconds(0.0), "must not be negative");
  table.finish();
  scenario.autoscaler = scaling;
}

Value resolved_autoscaler_table(const Scenario& scenario) {
  Value table;
  if (!scenario.autoscaler) return table;
  const AutoscalerSettings& scaling = *scenario.autoscaler;
  table.set("min", scaling.min);
  table.set("max", scaling.max);
  table.set("metric", std::string(enum_name(scaling.metric)));
  table.set("target", scaling.target);
  table.set("interval", exact_text(scaling.interval));
  table.set("cooldown_up", exact_text(scaling.cooldown_up));
  table.set("cooldown_down", exact_text(scaling.cooldown_down));
  return table;
}

void check_autoscaler(const Scenario& scenario, Diagnostics& diagnostics) {
  if (!scenario.autoscaler) return;
  const auto& [min, max] = std::pair(scenario.autoscaler->min, scenario.autoscaler->max);
  const int replicas = scenario.deployment.replicas;
  if (replicas >= min && replicas <= max) return;
  diagnostics.add(scenario.deployment_position,
                  fmt::format("replicas = {}, with which the run begins, is not within the "
                              "autoscaler's min = {} and max = {}",
                              replicas, min, max));
}

}  // namespace foretoken
