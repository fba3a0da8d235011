// A plan as CSV and as JSON: all choices with all that is known of them.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/csv_cell.hpp"
#include "sim/planner/plan/plan.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {

std::string plan_csv(const Plan& plan) {
  std::string text;
  for (const LayoutChoice& axis : plan.space.axes) text += axis.key + ',';
  text +=
      "fate,units,gpus,dollars_per_hour,dollars_per_hour_low,dollars_per_hour_high,front,"
      "load_holds_per_s,step_time_error,nodes,dollars_per_hour_of_gpus,"
      "dollars_per_hour_of_nodes,dollars_per_hour_spared,seeds,attainment_lower_end";
  std::size_t planned = 0;
  for (const Figure& figure : figures()) {
    if (!is_planned(figure)) continue;
    text += fmt::format(",{0},{0}_low,{0}_high", figure.name);
    ++planned;
  }
  text += ",reason\n";
  for (std::size_t i = 0; i < plan.result.candidates.size(); ++i) {
    const CandidateResult& result = plan.result.candidates[i];
    const DeploymentConfidence* sure = plan.confidence(i);
    for (const std::string& value : plan.space.candidates[i].values) text += csv_cell(value) + ',';
    text += enum_name(result.fate);
    if (result.fate != CandidateFate::holds) {
      text += std::string(14 + 3 * planned, ',') + "," + csv_cell(result.reason) + '\n';
      continue;
    }
    const CostRange range = plan.cost_range(i);
    const bool on_front = std::ranges::find(plan.result.front, i) != plan.result.front.end();
    text +=
        fmt::format(",{},{},{}", result.units, result.units * plan.space.candidates[i].unit_gpus,
                    rounded(range.predicted));
    text += sure != nullptr ? fmt::format(",{},", rounded(range.faster)) : ",,";
    if (sure != nullptr && sure->units_slower) text += fmt::format("{}", rounded(range.slower));
    text += fmt::format(",{},", on_front ? "yes" : "no");
    if (sure != nullptr && sure->load_holds)
      text += fmt::format("{}", rounded(*sure->load_holds * plan.space.traffic.rate.value()));
    text += sure != nullptr ? fmt::format(",{}", rounded(sure->half_width)) : ",";
    const PlanCandidate& candidate = plan.space.candidates[i];
    text += fmt::format(",{},{},{},", candidate.nodes(result.units),
                        rounded(result.units * candidate.unit_dollars_per_hour),
                        rounded(candidate.dollars_of_nodes(result.units)));
    if (result.units < candidate.units_max)
      text += fmt::format("{}", rounded(result.objectives.spared_dollars_per_hour));
    text += fmt::format(",{},{}", result.attainments.size(), rounded(result.attainment_low));
    for (std::size_t m = 0; m < result.metrics.size(); ++m) {
      if (!is_planned(figures()[m])) continue;
      text += fmt::format(",{}", rounded(result.metrics[m]));
      text += sure != nullptr ? fmt::format(",{},{}", rounded(sure->metrics[m].low),
                                            rounded(sure->metrics[m].high))
                              : ",,";
    }
    text += ",\n";
  }
  return text;
}

namespace {

Value metrics_value(const CandidateResult& result, const DeploymentConfidence* sure) {
  Value value;
  for (std::size_t m = 0; m < result.metrics.size(); ++m) {
    if (!is_planned(figures()[m])) continue;
    Value figure;
    figure.set("value", rounded(result.metrics[m]));
    if (sure != nullptr) {
      figure.set("low", rounded(sure->metrics[m].low));
      figure.set("high", rounded(sure->metrics[m].high));
    }
    value.set(figures()[m].name, std::move(figure));
  }
  return value;
}

Value error_value(const DeploymentConfidence& sure) {
  Value families;
  for (const FamilyError& family : sure.error.families) {
    families.set(family.family,
                 ValueObject{{"share", rounded(family.share)}, {"error", rounded(family.error)}});
  }
  return ValueObject{{"half_width", rounded(sure.half_width)}, {"families", std::move(families)}};
}

Value deployment_value(const Plan& plan, std::size_t i) {
  const CandidateResult& result = plan.result.candidates[i];
  const PlanCandidate& candidate = plan.space.candidates[i];
  Value value;
  Value values;
  for (std::size_t a = 0; a < plan.space.axes.size(); ++a)
    values.set(plan.space.axes[a].key, candidate.values[a]);
  value.set("choice", std::move(values));
  value.set("fate", std::string(enum_name(result.fate)));
  if (!result.reason.empty()) value.set("reason", result.reason);
  const auto pair =
      std::ranges::find(plan.result.beaten_by, i, &std::pair<std::size_t, std::size_t>::first);
  if (pair != plan.result.beaten_by.end())
    value.set("beaten_by", static_cast<std::int64_t>(pair->second));
  value.set("runs", static_cast<std::int64_t>(result.probes));
  value.set("bounds", ValueObject{{"units", rounded(candidate.bounds.units)},
                                  {"attainment", rounded(candidate.bounds.attainment)},
                                  {"latency_ms", rounded(candidate.bounds.latency_ms)}});
  if (result.fate != CandidateFate::holds) return value;
  const DeploymentConfidence* sure = plan.confidence(i);
  const CostRange range = plan.cost_range(i);
  value.set("units", result.units);
  value.set("gpus", result.units * candidate.unit_gpus);
  Value cost;
  cost.set("value", rounded(range.predicted));
  if (sure != nullptr) {
    cost.set("low", rounded(range.faster));
    if (sure->units_slower) cost.set("high", rounded(range.slower));
  }
  value.set("dollars_per_hour", std::move(cost));
  value.set("dollars_per_hour_of_gpus", rounded(result.units * candidate.unit_dollars_per_hour));
  value.set("nodes", candidate.nodes(result.units));
  value.set("dollars_per_hour_of_nodes", rounded(candidate.dollars_of_nodes(result.units)));
  if (result.units < candidate.units_max) {
    value.set("dollars_per_hour_spared", rounded(result.objectives.spared_dollars_per_hour));
  }
  ValueArray attainments;
  for (const double share : result.attainments) attainments.emplace_back(rounded(share));
  value.set("attainments", std::move(attainments));
  value.set("attainment_lower_end", rounded(result.attainment_low));
  if (plan.is_sampled) value.set("checked_whole", result.is_checked_whole);
  value.set("tokens_per_s_gpu", rounded(result.objectives.tokens_per_s_gpu));
  value.set("metrics", metrics_value(result, sure));
  if (sure != nullptr) {
    value.set("step_time_error", error_value(*sure));
    if (sure->load_holds)
      value.set("load_holds_per_s", rounded(*sure->load_holds * plan.space.traffic.rate.value()));
    if (sure->load_fails)
      value.set("load_fails_per_s", rounded(*sure->load_fails * plan.space.traffic.rate.value()));
  }
  ValueArray keys;
  for (const std::string& key : texts_of(plan.judged_run(i))) keys.emplace_back(key);
  value.set("set", std::move(keys));
  return value;
}

/// What the answer takes for granted.
Value taken_value(const PlanSpace& space, const PlanSettings& settings) {
  Value prices;
  for (const PricedGpu& priced : space.prices) {
    prices.set(priced.gpu, ValueObject{{"dollars_per_hour", rounded(priced.dollars_per_hour)},
                                       {"given", priced.is_given}});
  }
  return ValueObject{
      {"model", space.model},
      {"engine", space.engine},
      {"predictor", space.predictor},
      {"requests", space.traffic.count},
      {"recorded", space.traffic.is_recorded},
      {"margin", rounded(settings.margin)},
      {"pay", std::string(enum_name(settings.pay))},
      {"sampled", space.requests().is_sampled()},
      {"replications", ValueArray{settings.replications.least, settings.replications.most}},
      {"prices", std::move(prices)}};
}

Value indices(const std::vector<std::size_t>& candidates) {
  ValueArray values;
  for (const std::size_t i : candidates) values.emplace_back(static_cast<std::int64_t>(i));
  return values;
}

}  // namespace

Value plan_value(const Plan& plan) {
  const TrafficSample& traffic = plan.space.traffic;
  ValueArray candidates;
  for (std::size_t i = 0; i < plan.result.candidates.size(); ++i)
    candidates.emplace_back(deployment_value(plan, i));
  Value value = ValueObject{
      {"complete", plan.result.is_complete},
      {"load", ValueObject{{"requests_per_s", rounded(traffic.rate.value())},
                           {"prompt_tokens_mean", rounded(prompt_tokens_mean(traffic))},
                           {"output_tokens_mean", rounded(traffic.output_tokens_mean())}}},
      {"slo", slo_text(plan.space.slo)},
      {"taken", taken_value(plan.space, plan.settings)},
      {"confidence", rounded(plan.settings.confidence)},
      {"runs", static_cast<std::int64_t>(plan.runs)},
      {"runs_for_intervals", static_cast<std::int64_t>(plan.close_runs)},
      {"runs_of_counting_up", static_cast<std::int64_t>(plan.counted_runs)},
      {"runs_of_a_sweep", static_cast<std::int64_t>(plan.sweep_runs)}};
  if (plan.result.cheapest) value.set("cheapest", static_cast<std::int64_t>(*plan.result.cheapest));
  if (plan.result.cheapest_spared)
    value.set("cheapest_spared", static_cast<std::int64_t>(*plan.result.cheapest_spared));
  value.set("front", indices(plan.result.front));
  value.set("as_good_as_cheapest", indices(plan.as_good_as_cheapest));
  value.set("candidates", std::move(candidates));
  return value;
}

}  // namespace foretoken
