// The page of a plan: the cheapest deployment that holds, all choices on cost against latency and
// throughput, why the others are not it, how sure that is, and the scenario that simulates it.
#include "sim/planner/plan/plan_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/base/toml.hpp"
#include "sim/planner/plan/plan_columns.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/planner/plan/probe_task.hpp"
#include "sim/report/command_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"

namespace foretoken {
namespace {

// Verdicts of those that hold, the last drawn above the others.
constexpr std::string_view holding[] = {"holds", "front", "as good", "cheapest"};

std::string interval_note(const DeploymentConfidence* sure, std::size_t metric, double unit) {
  if (sure == nullptr) return "";
  const Interval& interval = sure->metrics[metric];
  return fmt::format("{} to {}", brief(interval.low / unit), brief(interval.high / unit));
}

PageTile latency_tile(const CandidateResult& result, const DeploymentConfidence* sure,
                      const std::string& name) {
  const std::size_t metric = figure_index(name + "_ms");
  const double unit = result.metrics[metric] >= 1e3 ? 1e3 : 1;
  return {figure_named(name + std::string("_ms")).title, brief(result.metrics[metric] / unit),
          unit > 1 ? "s" : "ms", interval_note(sure, metric, unit)};
}

void add_answer_tiles(std::vector<PageTile>& tiles, const Plan& plan, std::size_t best) {
  const CandidateResult& result = plan.result.candidates[best];
  const DeploymentConfidence* sure = plan.confidence(best);
  tiles.push_back({"Cheapest that meets the SLO", with_units(plan, best), "", gpus_text(plan, best),
                   PageTile::Tone::good});
  const CostRange range = plan.cost_range(best);
  std::string open;
  if (sure != nullptr && range.faster < range.slower) {
    open = fmt::format("${:.2f} to {} · ", range.faster,
                       sure->units_slower ? fmt::format("${:.2f}", range.slower) : "no number");
  }
  tiles.push_back(
      {"Cost", fmt::format("${}", grouped(range.predicted, 2)), "an hour",
       fmt::format("${} a month · {}${} per M output tokens", month_text(range.predicted), open,
                   grouped(dollars_per_million(plan, best), 2))});
  const std::size_t share = figure_index("attainment");
  tiles.push_back({"Within the SLO", attained(result.metrics[share]), "%",
                   fmt::format("{}{} required",
                               sure == nullptr ? ""
                                               : fmt::format("{} to {} % · ",
                                                             attained(sure->metrics[share].low),
                                                             attained(sure->metrics[share].high)),
                               percent(plan.space.slo.percentile / 100))});
  std::vector<std::string> latencies = {"ttft_p99", "tpot_p99"};
  if (std::ranges::find(latencies, plan.settings.latency) == latencies.end())
    latencies.insert(latencies.begin(), plan.settings.latency);
  for (const std::string& name : latencies) tiles.push_back(latency_tile(result, sure, name));
  if (sure != nullptr && sure->load_holds) {
    tiles.push_back(
        {"Holds up to", brief(*sure->load_holds * plan.space.traffic.rate.value()), "requests/s",
         fmt::format("{} required{}", brief(plan.space.traffic.rate.value() * plan.judged_load()),
                     sure->is_sustained ? "" : fmt::format("; {}", burst_words))});
  }
}

void add_plan_tiles(ReportPage& page, const Plan& plan) {
  std::vector<PageTile> tiles;
  if (plan.result.cheapest) {
    add_answer_tiles(tiles, plan, *plan.result.cheapest);
  } else {
    tiles.push_back({"Cheapest that meets the SLO", "none", "",
                     plan.result.is_complete ? "the reasons are below" : "stopped before",
                     PageTile::Tone::bad});
  }
  const double saved =
      plan.counted_runs > plan.runs
          ? 1 - static_cast<double>(plan.runs) / static_cast<double>(plan.counted_runs)
          : 0;
  tiles.push_back(
      {"Runs", grouped(static_cast<std::int64_t>(plan.runs)),
       fmt::format("of {}", grouped(static_cast<std::int64_t>(plan.counted_runs))),
       fmt::format("{} saved{}", percent(saved),
                   plan.close_runs == 0
                       ? ""
                       : fmt::format(" · {} more for intervals",
                                     grouped(static_cast<std::int64_t>(plan.close_runs))))});
  page.tiles(tiles);
}

/// The cheapest by this figure alone: nobody pays less and has it better.
PageSeries edge_of(const Plan& plan, double Objectives::*figure, bool more_is_better) {
  std::vector<Objectives> points;
  for (const CandidateResult& result : plan.result.candidates) {
    if (result.fate != CandidateFate::holds) continue;
    const double value = result.objectives.*figure;
    points.push_back({result.objectives.dollars_per_hour, more_is_better ? -value : value, 0});
  }
  PageSeries edge{"best for the money", PageSeries::Kind::line, {}, {}};
  for (const std::size_t i : pareto_front(points)) {
    edge.x.push_back(points[i].dollars_per_hour);
    edge.y.push_back(more_is_better ? -points[i].latency_ms : points[i].latency_ms);
  }
  return edge;
}

/// All that hold on cost against a figure; `metric` has its intervals, if it has any.
void add_plan_scatter(ReportPage& page, const Plan& plan, double Objectives::*figure,
                      std::optional<std::size_t> metric, const std::string& title,
                      const std::string& unit, bool more_is_better) {
  PageChart chart;
  chart.title = title + " against cost";
  chart.x.label = "USD an hour";
  chart.y.label = title + ", " + unit;
  for (const std::string_view verdict : holding) {
    PageSeries series{std::string(verdict), PageSeries::Kind::points, {}, {}};
    for (std::size_t i = 0; i < plan.result.candidates.size(); ++i) {
      if (verdict_of(plan, i) != verdict) continue;
      const Objectives& objectives = plan.result.candidates[i].objectives;
      const DeploymentConfidence* sure = metric ? plan.confidence(i) : nullptr;
      const double value = objectives.*figure;
      series.x.push_back(objectives.dollars_per_hour);
      series.y.push_back(value);
      series.low.push_back(sure != nullptr ? sure->metrics[*metric].low : value);
      series.high.push_back(sure != nullptr ? sure->metrics[*metric].high : value);
      series.size.push_back(verdict == "cheapest" ? 0.3 : 0.1);
      series.notes.push_back(fmt::format(
          "{}: ${:.2f} an hour, {} {}{}", with_units(plan, i), objectives.dollars_per_hour,
          brief(value), unit,
          sure == nullptr
              ? ""
              : fmt::format(" ({} to {})", brief(series.low.back()), brief(series.high.back()))));
    }
    if (verdict == "as good") series.name = "cannot be ruled out as cheapest";
    if (verdict == "front") series.name = "Pareto-optimal";
    if (verdict == "holds") series.name = "others that meet the SLO";
    chart.series.push_back(std::move(series));
  }
  chart.series.push_back(edge_of(plan, figure, more_is_better));
  page.chart(chart);
}

/// All candidates: those that hold by cost, the cheapest first, then the others by fate.
std::vector<std::size_t> table_order(const Plan& plan) {
  std::vector<std::size_t> order(plan.result.candidates.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const CandidateResult& result = plan.result.candidates[i];
    const int fate = static_cast<int>(CandidateFate::holds) - static_cast<int>(result.fate);
    const bool is_first = plan.result.cheapest == i;
    return std::tuple(fate, !is_first, fate == 0 ? result.objectives.dollars_per_hour : 0.0);
  });
  return order;
}

void add_as_good(ReportPage& page, const Plan& plan, const std::string& of) {
  if (!plan.result.cheapest || plan.confidences.empty()) return;
  page.section(of + "Possibly cheaper choices",
               "Prediction alone cannot tell whether these cost less than the cheapest: within the "
               "predictor's error of step times, their costs overlap.");
  std::vector<std::string> notes;
  for (const std::size_t other : plan.as_good_as_cheapest) {
    notes.push_back(doubt_text(plan, other));
  }
  if (notes.empty())
    notes.emplace_back("None: the cheapest costs less than every other choice examined.");
  page.notes(notes);
}

void add_plan_reasons(ReportPage& page, const Plan& plan, const std::string& of) {
  std::vector<std::string> notes;
  for (const CandidateFate fate : {CandidateFate::beaten, CandidateFate::fails,
                                   CandidateFate::too_slow, CandidateFate::impossible}) {
    for (const auto& group : reasons_of(plan, fate)) {
      notes.push_back(fmt::format("{}, {}: {}", fate_title(fate), group.reason,
                                  fmt::join(group.members, " · ")));
    }
  }
  if (notes.empty()) return;
  page.section(of + "Why not the others",
               "Beaten: more expensive even at its best possible load. Too slow, not possible: "
               "known before any run.");
  page.notes(notes);
}

void add_plan_accuracy(ReportPage& page, const Plan& plan, const std::string& of) {
  page.section(of + "Confidence",
               "Intervals cover the predictor's held-out error and random traffic.");
  const DeploymentConfidence* sure =
      plan.result.cheapest ? plan.confidence(*plan.result.cheapest) : nullptr;
  if (sure != nullptr) {
    std::vector<PageBar> bars;
    for (const FamilyError& family : sure->error.families) {
      if (family.part() <= 0) continue;
      std::string name = family.family;
      std::ranges::replace(name, '_', ' ');
      bars.push_back({name,
                      fmt::format("{} · {} of the time, each {} off", percent(family.part()),
                                  percent(family.share), percent(family.error)),
                      {{name, family.part()}}});
    }
    page.bars("Error of the cheapest's steps, by kernel family", bars, sure->error.mean_absolute());
  }
  const TrafficSample& traffic = plan.space.traffic;
  std::vector<std::string> notes = {
      fmt::format("Load: {} requests/s, {} prompt and {} output tokens per request on average, {}.",
                  brief(traffic.rate.value()), brief(prompt_tokens_mean(traffic)),
                  brief(traffic.output_tokens_mean()),
                  traffic.is_recorded ? "from a recorded trace" : "drawn"),
      "SLO: " + slo_text(plan.space.slo) + "."};
  if (plan.settings.margin > 0) {
    notes.insert(notes.begin() + 1,
                 fmt::format("Sized for {}: latencies, the share within the SLO and throughput are "
                             "at that load, the cost of a token is at the load itself.",
                             sized_load_text(traffic, plan.settings)));
  }
  if (sure != nullptr) notes.push_back("Cheapest: " + error_text(plan, *sure) + ".");
  if (!traffic.is_recorded) {
    notes.push_back(
        fmt::format("A fleet meets the SLO if it does with the scenario's own seed and at the "
                    "lower end of the one-sided 95 % interval of {} to {} seeds.",
                    plan.settings.replications.least, plan.settings.replications.most));
  }
  notes.insert(
      notes.end(),
      {"Assumes that more replicas never hurt.",
       "Errors of all kernel families are assumed to have the same sign. Not in the intervals: "
       "errors of host times beyond the predictor's table, and anything not modelled.",
       fmt::format("No deployment has more than {} replicas or {} GPUs.",
                   plan.settings.replicas_max, plan.settings.gpus_max)});
  if (plan.confidences.empty())
    notes.emplace_back("No intervals (--quick, or stopped): figures are means only.");
  if (!plan.result.is_complete)
    notes.emplace_back("The search was stopped: choices that were not run may be better.");
  page.notes(notes);
}

}  // namespace

void add_plan(ReportPage& page, const Plan& plan, const std::string& of) {
  if (plan.result.cheapest) {
    page.section(of + "Choices that meet the SLO",
                 "With as many replicas as needed. Whiskers are intervals, where computed.");
    const std::size_t latency = figure_index(plan.settings.latency + "_ms");
    add_plan_scatter(page, plan, &Objectives::latency_ms, latency,
                     figure_named(plan.settings.latency + "_ms").title, "ms", false);
    add_plan_scatter(page, plan, &Objectives::tokens_per_s_gpu, std::nullopt, "Throughput per GPU",
                     "output tokens/s", true);
  }
  page.section(of + "All choices",
               "Figures of choices that meet the SLO, with as many replicas as needed; in brackets "
               "their intervals, where computed. Click a column header to sort.");
  page.table("choice", plan_columns(plan, table_order(plan), Ink(false)).page());
  add_as_good(page, plan, of);
  add_plan_reasons(page, plan, of);
  add_plan_accuracy(page, plan, of);
}

std::string plan_page(const Plan& plan, const std::string& scenario, const LoadScenario& load,
                      const std::string& version) {
  ReportPage page("Plan of " + scenario, "plan", version);
  add_plan_tiles(page, plan);
  add_plan(page, plan, "");
  page.section("Scenario", "The cheapest deployment; every default filled in.");
  if (plan.result.cheapest) {
    const std::size_t best = *plan.result.cheapest;
    page.text("Command", command_lines(command_words(plan, best, scenario), 100, 0));
    page.text("scenario.toml", to_toml(resolved_scenario(load(plan.judged_run(best)))));
  }
  page.text("Terminal output",
            plan_table(plan, scenario, {.width = 120, .rows_max = plan.space.candidates.size()}));
  return page.html();
}

}  // namespace foretoken
