// A plan as CSV and as JSON: all choices with all that is known of them.
#include <algorithm>
#include <numeric>

#include "sim/planner/plan/plan_columns.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

std::vector<std::size_t> all_candidates(const Plan& plan) {
  std::vector<std::size_t> all(plan.result.candidates.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Value error_value(const DeploymentConfidence& sure) {
  Value families;
  for (const FamilyError& family : sure.error.families) {
    families.set(family.family,
                 ValueObject{{"share", rounded(family.share)}, {"error", rounded(family.error)}});
  }
  return ValueObject{{"half_width", rounded(sure.half_width)}, {"families", std::move(families)}};
}

/// What a table has no cell for.
void add_details(Value& value, const Plan& plan, std::size_t i) {
  const CandidateResult& result = plan.result.candidates[i];
  const LoadBounds& bounds = plan.space.candidates[i].bounds;
  const auto pair =
      std::ranges::find(plan.result.beaten_by, i, &std::pair<std::size_t, std::size_t>::first);
  if (pair != plan.result.beaten_by.end())
    value.set("beaten_by", static_cast<std::int64_t>(pair->second));
  value.set("runs", static_cast<std::int64_t>(result.probes));
  value.set("bounds", ValueObject{{"units", rounded(bounds.units)},
                                  {"attainment", rounded(bounds.attainment)},
                                  {"latency_ms", rounded(bounds.latency_ms)}});
  if (result.fate != CandidateFate::holds) return;
  ValueArray attainments, keys;
  for (const double share : result.attainments) attainments.emplace_back(rounded(share));
  value.set("attainments", std::move(attainments));
  if (plan.is_sampled) value.set("checked_whole", result.is_checked_whole);
  value.set("tokens_per_s_gpu", rounded(result.objectives.tokens_per_s_gpu));
  if (const DeploymentConfidence* sure = plan.confidence(i)) {
    value.set("step_time_error", error_value(*sure));
    if (sure->load_fails)
      value.set("load_fails_per_s", rounded(*sure->load_fails * plan.space.traffic.rate.value()));
  }
  for (const std::string& key : texts_of(plan.judged_run(i))) keys.emplace_back(key);
  value.set("set", std::move(keys));
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

std::string plan_csv(const Plan& plan) {
  return plan_columns(plan, all_candidates(plan), Ink(false)).csv();
}

Value plan_value(const Plan& plan) {
  const TrafficSample& traffic = plan.space.traffic;
  ValueArray candidates = plan_columns(plan, all_candidates(plan), Ink(false)).json();
  for (std::size_t i = 0; i < candidates.size(); ++i) add_details(candidates[i], plan, i);
  Value value = ValueObject{
      {"complete", plan.result.is_complete},
      {"load",
       ValueObject{{"requests_per_s", rounded(traffic.rate.value())},
                   {"sized_for_requests_per_s", rounded(traffic.rate.value() * plan.judged_load())},
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
