#include <algorithm>

#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// The policy decides what absent keys mean, and so is read before them; a mistake in it is told
/// when it is read again.
ScalingPolicyKind policy_of(TableReader& table) {
  const Value* policy = table.find("policy");
  const auto* name = policy == nullptr ? nullptr : std::get_if<std::string>(&policy->data);
  const bool is_wva = name != nullptr && *name == enum_name(ScalingPolicyKind::wva);
  return is_wva ? ScalingPolicyKind::wva : ScalingPolicyKind::cooldown;
}

void read_wva(TableReader& table, AutoscalerSettings& scaling) {
  const bool is_wva = scaling.policy == ScalingPolicyKind::wva;
  if (is_wva) wva_keys().read(table, scaling.wva);
  const WvaSettings& wva = scaling.wva;
  for (const KeyNote& note : wva_keys().notes()) {
    const bool is_absent = table.find(note.name) == nullptr;
    table.expect(note.name, is_wva || is_absent,
                 fmt::format("is a key of policy = \"wva\"; remove it, or choose that policy"));
    table.expect(
        note.name, !is_wva || is_absent || has_meaning(note.name, wva.analyzer),
        fmt::format("has no effect with analyzer = \"{}\"; remove it", enum_name(wva.analyzer)));
  }
  if (!is_wva) return;
  table.expect("scale_up_threshold",
               wva.analyzer == SaturationAnalyzer::shares ||
                   wva.scale_up_threshold > wva.scale_down_boundary,
               fmt::format("is {}, and must be above scale_down_boundary = {}, or replicas would "
                           "come and go in turn",
                           wva.scale_up_threshold, wva.scale_down_boundary));
  table.expect(
      "kv_spare_trigger",
      wva.analyzer == SaturationAnalyzer::tokens || wva.kv_spare_trigger <= wva.kv_cache_threshold,
      fmt::format("is {}, more than kv_cache_threshold = {} leaves; lower it", wva.kv_spare_trigger,
                  wva.kv_cache_threshold));
  table.expect("queue_spare_trigger",
               wva.analyzer == SaturationAnalyzer::tokens ||
                   wva.queue_spare_trigger <= wva.queue_length_threshold,
               fmt::format("is {}, more than queue_length_threshold = {} leaves; lower it",
                           wva.queue_spare_trigger, wva.queue_length_threshold));
  table.expect(
      "scrape_interval", wva.scrape_interval <= wva.metrics_window,
      "is longer than metrics_window, in which decisions would find no metrics; shorten it");
  table.expect("retention", !wva.retention || scaling.min == 0,
               "stops all replicas, and min keeps some; give min = 0, or remove it");
  const bool grows_from_none = std::ranges::any_of(
      scaling.up, [](const ScalingRate& rate) { return rate.replicas.has_value(); });
  table.expect("min", scaling.min > 0 || scaling.up.empty() || grows_from_none,
               "is 0, and a percentage of no replicas is none; add a rule to up, for example "
               "up = [{ replicas = 2, period = \"60 s\" }]");
}

}  // namespace

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
  AutoscalerSettings scaling = autoscaler_defaults(policy_of(table));
  autoscaler_keys().read(table, scaling);
  for (const KeyNote& note : autoscaler_keys().notes()) {
    table.expect(
        note.name, table.find(note.name) == nullptr || has_meaning(note.name, scaling.policy),
        fmt::format("has no effect with policy = \"{}\"; remove it", enum_name(scaling.policy)));
  }
  read_wva(table, scaling);
  for (const char* key : {"metric", "target", "capacity"}) {
    if (has_meaning(key, scaling.policy)) (void)table.has(key);
  }
  const bool wakes =
      scaling.policy == ScalingPolicyKind::keda || scaling.policy == ScalingPolicyKind::wva;
  table.expect("min", scaling.min > 0 || wakes,
               "is 0, and only policy = \"keda\" or \"wva\" wakes replicas that sleep; keep 1");
  table.expect("max", scaling.max >= scaling.min,
               fmt::format("is {}, below min = {}; swap them", scaling.max, scaling.min));
  const bool is_share =
      has_meaning("target", scaling.policy) &&
      (scaling.metric == ScalingMetric::utilization || scaling.metric == ScalingMetric::kv);
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
  if (!scenario.autoscaler) return {};
  Value table = autoscaler_keys().table(*scenario.autoscaler);
  if (scenario.autoscaler->policy == ScalingPolicyKind::wva)
    wva_keys().write(scenario.autoscaler->wva, table);
  return table;
}

KeyTable autoscaler_key_table() {
  return {"autoscaler", "",
          "Starts and stops replicas by load. With pools: [pool.NAME.autoscaler].",
          autoscaler_keys().notes()};
}

KeyTable autoscaler_wva_key_table() {
  return {
      "autoscaler", "policy = \"wva\"",
      "How llm-d's Workload Variant Autoscaler decides for all pools of a model. Except for cost, "
      "each key must be the same in all of them.",
      wva_keys().notes()};
}

KeyTable autoscaler_rates_key_table() {
  return {"[autoscaler.up]", "policy = \"hpa\", \"keda\" or \"wva\"",
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
