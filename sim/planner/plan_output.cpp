// A plan as a table for the terminal, as CSV and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/csv_cell.hpp"
#include "sim/planner/choice_text.hpp"
#include "sim/planner/figure_columns.hpp"
#include "sim/planner/plan.hpp"
#include "sim/planner/plan_metrics.hpp"
#include "sim/planner/plan_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

/// "412 (398-430)", or the figure alone where nobody looked closely.
std::string with_interval(double value, const DeploymentConfidence* sure, std::size_t metric) {
  if (sure == nullptr) return brief(value);
  const Interval& interval = sure->metrics[metric];
  if (interval.low == interval.high) return brief(value);
  return fmt::format("{} ({}–{})", brief(value), brief(interval.low), brief(interval.high));
}

std::vector<std::size_t> shown_rows(const Plan& plan) {
  std::vector<std::size_t> rows = plan.result.front;
  for (const DeploymentConfidence& sure : plan.confidences) {
    if (std::ranges::find(rows, sure.candidate) == rows.end()) rows.push_back(sure.candidate);
  }
  return rows;
}

std::string marks(const Plan& plan, std::size_t candidate, const Ink& ink) {
  if (plan.result.cheapest == candidate) return ink.good("★");
  const bool as_good = std::ranges::find(plan.as_good_as_cheapest, candidate) !=
                       plan.as_good_as_cheapest.end();
  const bool on_front =
      std::ranges::find(plan.result.front, candidate) != plan.result.front.end();
  return fmt::format("{}{}", on_front ? "◆" : "", as_good ? "≈" : "");
}

std::string table_of_choices(const Plan& plan, const Ink& ink, bool colour, int width) {
  const std::size_t latency = *find_metric(plan.settings.latency + "_ms");
  const std::size_t ttft = *find_metric("ttft_p99_ms"), tpot = *find_metric("tpot_p99_ms");
  std::vector<TextColumn> headers = {{""}};
  for (const LayoutChoice& axis : plan.space.axes) headers.push_back({axis.label, Align::right});
  for (const char* header : {"rep", "GPUs", "$/h"}) headers.push_back({header, Align::right});
  headers.push_back({latency_header(plan.settings.latency), Align::right});
  if (latency != ttft) headers.push_back({"TTFT p99", Align::right});
  if (latency != tpot) headers.push_back({"TPOT p99", Align::right});
  headers.push_back({"/GPU", Align::right});
  headers.push_back({"holds", Align::right});
  TextTable table(std::move(headers));
  for (const std::size_t i : shown_rows(plan)) {
    const CandidateResult& result = plan.result.candidates[i];
    const PlanCandidate& candidate = plan.space.candidates[i];
    const DeploymentConfidence* sure = plan.confidence(i);
    std::vector<std::string> cells = {marks(plan, i, ink)};
    cells.insert(cells.end(), candidate.values.begin(), candidate.values.end());
    cells.push_back(fmt::format("{}", result.units));
    cells.push_back(fmt::format("{}", result.units * candidate.unit_gpus));
    cells.push_back(fmt::format("{:.2f}", candidate.dollars_per_hour(result.units)));
    cells.push_back(with_interval(result.metrics[latency], sure, latency));
    for (const std::size_t m : {ttft, tpot}) {
      if (m != latency) cells.push_back(brief(result.metrics[m]));
    }
    cells.push_back(brief(result.objectives.tokens_per_s_gpu));
    const bool loaded = sure != nullptr && sure->load_holds;
    cells.push_back(
        loaded ? brief(*sure->load_holds * plan.space.traffic.rate.value()) + "/s" : "");
    table.add_row(std::move(cells));
  }
  return table.text({.width = width, .colour = colour, .kept = 1 + plan.space.axes.size()});
}

/// Reasons of one fate, each with all that it holds for.
std::string reasons(const Plan& plan, CandidateFate fate, const Ink& ink, int width) {
  const std::vector<ReasonGroup> groups = reasons_of(plan, fate);
  if (groups.empty()) return "";
  std::string text = fmt::format("\n  {}\n", ink.strong(std::string(fate_title(fate))));
  for (const auto& [reason, members] : groups) {
    text += wrapped(fmt::format("{}: {}", reason, fmt::join(members, " · ")), width, 4, 6);
  }
  return text;
}

std::string answer(const Plan& plan, const std::string& scenario, const Ink& ink, int width) {
  if (!plan.result.cheapest) {
    return fmt::format("  {} {}\n", ink.bad("✗"),
                       plan.result.is_complete
                           ? "no choice holds the SLO; the reasons are below"
                           : "stopped before any choice was found to hold the SLO");
  }
  const std::size_t best = *plan.result.cheapest;
  const double cost =
      plan.space.candidates[best].dollars_per_hour(plan.result.candidates[best].units);
  std::string text = wrapped(fmt::format("{} cheapest: {} · {} · ${:.2f} an hour", ink.good("★"),
                                         with_units(plan, best), gpus_text(plan, best), cost),
                             width, 2, 4);
  const DeploymentConfidence* sure = plan.confidence(best);
  if (sure != nullptr && sure->load_holds) {
    text += wrapped(fmt::format("holds up to {} requests/s, {} above the load",
                                brief(*sure->load_holds * plan.space.traffic.rate.value()),
                                percent(std::max(0.0, *sure->load_holds - 1))),
                    width, 4, 4);
  }
  if (sure != nullptr) text += wrapped(error_text(plan, *sure), width, 4, 4);
  for (const std::size_t other : plan.as_good_as_cheapest) {
    text += wrapped(fmt::format("≈ as cheap within these errors: {} (${} an hour)",
                                with_units(plan, other), cost_text(plan, other)),
                    width, 4, 6);
  }
  return text + ink.quiet(wrapped(command_text(plan, best, scenario), width, 4, 6));
}

std::string runs_text(const Plan& plan) {
  const auto saved = plan.counted_runs > plan.runs
                         ? 1.0 - static_cast<double>(plan.runs) /
                                     static_cast<double>(plan.counted_runs)
                         : 0.0;
  std::size_t counts[EnumNames<CandidateFate>::names.size()] = {};
  for (const CandidateResult& result : plan.result.candidates)
    ++counts[static_cast<std::size_t>(result.fate)];
  const auto of = [&](CandidateFate fate) { return counts[static_cast<std::size_t>(fate)]; };
  return fmt::format(
      "\n  {} choices: {} hold, {} fail, {} beaten, {} too slow by their datasheets, {} impossible\n"
      "  {} runs made{}; counting every choice up to its answer takes at least {} ({} saved)\n",
      plan.result.candidates.size(), of(CandidateFate::holds), of(CandidateFate::fails),
      of(CandidateFate::beaten), of(CandidateFate::too_slow), of(CandidateFate::impossible),
      grouped(static_cast<std::int64_t>(plan.runs)),
      plan.close_runs > 0 ? fmt::format(", {} more for intervals and highest loads",
                                        grouped(static_cast<std::int64_t>(plan.close_runs)))
                          : "",
      grouped(static_cast<std::int64_t>(plan.counted_runs)), percent(saved));
}

}  // namespace

std::string plan_table(const Plan& plan, const std::string& scenario, bool colour, int width) {
  const Ink ink(colour);
  std::string text = question_text(plan.space, plan.settings, width) + '\n';
  if (plan.result.cheapest) {
    text += table_of_choices(plan, ink, colour, width);
    text += ink.quiet(wrapped(
        fmt::format("★ cheapest · ≈ as cheap within the errors · ◆ no other is better in cost, {} and "
                    "tokens/s of a GPU at once · "
                    "latencies in ms · in brackets what the predictor's error and chance leave "
                    "open · holds: the highest load",
                    latency_header(plan.settings.latency)),
        width, 2, 2));
    text += '\n';
  }
  text += answer(plan, scenario, ink, width);
  for (const CandidateFate fate : {CandidateFate::beaten, CandidateFate::fails,
                                   CandidateFate::too_slow, CandidateFate::impossible}) {
    text += reasons(plan, fate, ink, width);
  }
  return text + runs_text(plan);
}

std::string plan_csv(const Plan& plan) {
  std::string text;
  for (const LayoutChoice& axis : plan.space.axes) text += axis.key + ',';
  text += "fate,units,gpus,dollars_per_hour,dollars_per_hour_low,dollars_per_hour_high,front,"
          "load_holds_per_s,step_time_error";
  for (const PlanMetric& metric : plan_metrics()) text += fmt::format(",{0},{0}_low,{0}_high", metric.name);
  text += ",reason\n";
  for (std::size_t i = 0; i < plan.result.candidates.size(); ++i) {
    const CandidateResult& result = plan.result.candidates[i];
    const DeploymentConfidence* sure = plan.confidence(i);
    for (const std::string& value : plan.space.candidates[i].values) text += csv_cell(value) + ',';
    text += enum_name(result.fate);
    if (result.fate != CandidateFate::holds) {
      text += std::string(8 + 3 * plan_metrics().size(), ',') + "," + csv_cell(result.reason) + '\n';
      continue;
    }
    const CostRange range = plan.cost_range(i);
    const bool on_front = std::ranges::find(plan.result.front, i) != plan.result.front.end();
    text += fmt::format(",{},{},{}", result.units,
                        result.units * plan.space.candidates[i].unit_gpus,
                        rounded(range.predicted));
    text += sure != nullptr ? fmt::format(",{},", rounded(range.faster)) : ",,";
    if (sure != nullptr && sure->units_slower) text += fmt::format("{}", rounded(range.slower));
    text += fmt::format(",{},", on_front ? "yes" : "no");
    if (sure != nullptr && sure->load_holds)
      text += fmt::format("{}", rounded(*sure->load_holds * plan.space.traffic.rate.value()));
    text += sure != nullptr ? fmt::format(",{}", rounded(sure->half_width)) : ",";
    for (std::size_t m = 0; m < result.metrics.size(); ++m) {
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
    Value figure;
    figure.set("value", rounded(result.metrics[m]));
    if (sure != nullptr) {
      figure.set("low", rounded(sure->metrics[m].low));
      figure.set("high", rounded(sure->metrics[m].high));
    }
    value.set(plan_metrics()[m].name, std::move(figure));
  }
  return value;
}

Value error_value(const DeploymentConfidence& sure) {
  Value families;
  for (const FamilyError& family : sure.error.families) {
    families.set(family.family, ValueObject{{"share", rounded(family.share)},
                                            {"error", rounded(family.error)}});
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
  const auto pair = std::ranges::find(plan.result.beaten_by, i,
                                      &std::pair<std::size_t, std::size_t>::first);
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
  for (const std::string& key : plan.space.keys[i].deployment(result.units)) keys.emplace_back(key);
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
  value.set("front", indices(plan.result.front));
  value.set("as_good_as_cheapest", indices(plan.as_good_as_cheapest));
  value.set("candidates", std::move(candidates));
  return value;
}

}  // namespace foretoken
