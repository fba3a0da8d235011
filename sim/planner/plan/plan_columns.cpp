#include "sim/planner/plan/plan_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

using MaybeNumber = std::optional<double>;

bool contains(const std::vector<std::size_t>& list, std::size_t candidate) {
  return std::ranges::find(list, candidate) != list.end();
}

std::string whole(double dollars) { return grouped(dollars, 0); }
std::string attained_percent(double share) { return attained(share) + " %"; }

/// What columns ask of a choice; all but the first two only of one that holds.
struct ShownChoice {
  const Plan& plan;
  std::size_t i;
  const CandidateResult& result = plan.result.candidates[i];
  const PlanCandidate& candidate = plan.space.candidates[i];
  const DeploymentConfidence* sure = plan.confidence(i);  // nullptr: nobody looked closely

  [[nodiscard]] bool holds() const { return result.fate == CandidateFate::holds; }
  [[nodiscard]] std::string marks(const Ink& ink) const {
    if (plan.result.cheapest == i) return ink.good("★");
    return fmt::format("{}{}", contains(plan.result.front, i) ? "◆" : "",
                       contains(plan.as_good_as_cheapest, i) ? "≈" : "");
  }
  [[nodiscard]] int units() const { return result.units; }
  [[nodiscard]] int gpus() const { return result.units * candidate.unit_gpus; }
  [[nodiscard]] int nodes() const { return candidate.nodes(result.units); }
  [[nodiscard]] bool is_on_front() const { return contains(plan.result.front, i); }
  [[nodiscard]] ResultCell cost() const {
    const CostRange range = plan.cost_range(i);
    ResultCell cell{.number = range.predicted};
    if (sure != nullptr) cell.both = {range.faster, range.slower};
    return cell;
  }
  [[nodiscard]] MaybeNumber of_gpus() const {
    return result.units * candidate.unit_dollars_per_hour;
  }
  [[nodiscard]] MaybeNumber of_nodes() const { return candidate.dollars_of_nodes(result.units); }
  [[nodiscard]] MaybeNumber spared() const {
    const bool is_allowed = result.units < candidate.units_max;
    return is_allowed ? MaybeNumber(result.objectives.spared_dollars_per_hour) : std::nullopt;
  }
  [[nodiscard]] MaybeNumber load_holds() const {
    if (sure == nullptr || !sure->load_holds) return std::nullopt;
    return *sure->load_holds * plan.space.traffic.rate.value();
  }
  /// Of the load that it holds, where somebody looked for that.
  [[nodiscard]] MaybeNumber is_sustained() const {
    return load_holds() ? MaybeNumber(sure->is_sustained) : std::nullopt;
  }
  [[nodiscard]] MaybeNumber step_error() const {
    return sure != nullptr ? MaybeNumber(sure->half_width) : std::nullopt;
  }
};
using Shown = const ShownChoice&;

ResultCell metric_of(Shown r, std::size_t m) {
  if (!r.holds()) return {};
  ResultCell cell{.number = r.result.metrics[m]};
  if (r.sure != nullptr) cell.both = {r.sure->metrics[m].low, r.sure->metrics[m].high};
  return cell;
}

}  // namespace

std::string verdict_of(const Plan& plan, std::size_t candidate) {
  const CandidateFate fate = plan.result.candidates[candidate].fate;
  if (fate != CandidateFate::holds) return spelled(enum_name(fate));
  if (plan.result.cheapest == candidate) return "cheapest";
  if (contains(plan.as_good_as_cheapest, candidate)) return "as good";
  return contains(plan.result.front, candidate) ? "front" : "holds";
}

double dollars_per_million(const Plan& plan, std::size_t candidate) {
  const CandidateResult& result = plan.result.candidates[candidate];
  // Of the tokens that the traffic has: the margin is paid for and not used. In the steady state a
  // fleet that holds the load serves it, whatever is left at a run's end.
  const TrafficSample& traffic = plan.space.traffic;
  const double tokens = traffic.rate.value() * traffic.output_tokens_mean() * 3600;
  return plan.space.candidates[candidate].dollars_per_hour(result.units) / tokens * 1e6;
}

ResultTable plan_columns(const Plan& plan, const std::vector<std::size_t>& candidates,
                         const Ink& ink) {
  using enum ResultKind;
  std::vector<ShownChoice> rows;
  for (const std::size_t i : candidates) rows.push_back({plan, i});
  ResultTable table{.bounds = ResultBounds::beside};
  const ColumnsOf add(table, rows);
  const auto of_holding = [&](ResultColumn column, const auto& content_of) {
    add(std::move(column), [&](Shown r) {
      return r.holds() ? ResultCell::of(std::invoke(content_of, r)) : ResultCell();
    });
  };
  const auto a_month = [&](const char* title, const char* header, const auto& dollars_of) {
    of_holding({"", title, "$/month", header, number, 0, whole}, [&](Shown r) {
      const MaybeNumber dollars = std::invoke(dollars_of, r);
      return dollars ? MaybeNumber(*dollars * hours_a_month) : std::nullopt;
    });
  };
  add({"", "", "", " "}, [&](Shown r) { return r.marks(ink); });
  add_choices(table, plan.space, rows, true);
  add({"fate"}, [](Shown r) { return enum_name(r.result.fate); });
  add({"", "verdict"}, [](Shown r) { return verdict_of(r.plan, r.i); });
  const bool has_pools = !plan.space.keys.empty() && plan.space.keys[0].replicas.size() > 1;
  const char* unit = has_pools ? "sets of pools" : "replicas";
  of_holding({"units", unit, "", "rep", count}, &ShownChoice::units);
  of_holding({"gpus", "GPUs", "", "GPUs", count}, &ShownChoice::gpus);
  ResultColumn cost{"dollars_per_hour", "cost", "$/h", "", price, 2};
  cost.is_bounded = true;
  of_holding(cost, &ShownChoice::cost);
  of_holding({"front", "", "", "", flag}, &ShownChoice::is_on_front);
  of_holding({"load_holds_per_s", "holds up to", "requests/s", "", number, 2},
             &ShownChoice::load_holds);
  of_holding({"load_is_sustained", "", "", "", flag}, &ShownChoice::is_sustained);
  of_holding({"step_time_error", "", "", "", number}, &ShownChoice::step_error);
  of_holding({"", "", "", "$/h", price}, &ShownChoice::of_gpus);
  a_month("", "$/month", &ShownChoice::of_gpus);
  of_holding({"nodes", "nodes", "", "nodes", count}, &ShownChoice::nodes);
  a_month("nodes", "$/month", &ShownChoice::of_nodes);
  a_month("N+1", "N+1 $/month", &ShownChoice::spared);
  of_holding({"dollars_per_hour_of_gpus", "", "", "", number}, &ShownChoice::of_gpus);
  of_holding({"dollars_per_hour_of_nodes", "", "", "", number}, &ShownChoice::of_nodes);
  of_holding({"dollars_per_hour_spared", "", "", "", number}, &ShownChoice::spared);
  of_holding({"", "token cost", "$/M", "", price, 2},
             [](Shown r) { return dollars_per_million(r.plan, r.i); });
  const std::string latency = plan.settings.latency + "_ms";
  add_metric_in_terminal(table, rows, metric_of, latency, true);
  for (const char* name : {"ttft_p99_ms", "tpot_p99_ms"})
    if (name != latency) add_metric_in_terminal(table, rows, metric_of, name);
  of_holding({"", "", "", "SLO met", share, {}, attained_percent},
             [](Shown r) { return r.result.metrics[figure_index("attainment")]; });
  of_holding({"", "per GPU", "tokens/s", "/GPU", number, 0},
             [](Shown r) { return r.result.objectives.tokens_per_s_gpu; });
  of_holding({"seeds", "", "", "", count}, [](Shown r) { return r.result.attainments.size(); });
  of_holding({"attainment_lower_end", "", "", "", number},
             [](Shown r) { return r.result.attainment_low; });
  add_metrics(table, rows, metric_of, [&](const Figure& figure) {
    return figure.name == latency || (figure.use == FigureUse::runs && !figure.is_per_gpu);
  });
  add({"", "runs", "", "", count}, [](Shown r) { return r.result.probes; });
  add({"reason", "why not"},
      [](Shown r) { return ResultCell{.text = r.result.reason, .shown = reason_of(r.plan, r.i)}; });
  return table;
}

}  // namespace foretoken
