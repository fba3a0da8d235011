#include "sim/planner/plan/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/unit_text.hpp"
#include "sim/planner/choice_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {

std::string choice_of(const Plan& plan, std::size_t candidate) {
  return choice_text(plan.space.axes, plan.space.candidates[candidate].values);
}

std::string with_units(const Plan& plan, std::size_t candidate) {
  return with_units(plan, candidate, plan.result.candidates[candidate].units);
}

std::string with_units(const Plan& plan, std::size_t candidate, int units) {
  const std::string text = choice_of(plan, candidate);
  const bool has_pools = plan.space.keys[candidate].replicas.size() > 1;
  return fmt::format("{}{}", text.empty() ? "" : text + ", ",
                     has_pools ? fmt::format("{} x the pools", units) : counted(units, "replica"));
}

std::string gpus_text(const Plan& plan, std::size_t candidate) {
  const int units = plan.result.candidates[candidate].units;
  std::string text;
  for (const auto& [name, count] : plan.space.candidates[candidate].unit_gpus_by_name)
    text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", units * count, name);
  return text;
}

std::string slo_text(const SloTargets& slo) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& whose, const auto& targets) {
    for (const auto& [name, target] :
         {std::pair("ttft", targets.ttft), std::pair("tpot", targets.tpot),
          std::pair("e2e", targets.e2e)})
      if (target) parts.push_back(fmt::format("{}{} ≤ {}", whose, name, readable(*target)));
  };
  add("", slo);
  for (const SloTargets::Class& one : slo.classes)
    add(fmt::format("priority {} ", one.priority), one);
  return fmt::format("{} for {} of the requests", fmt::join(parts, " · "),
                     percent(slo.percentile / 100));
}

double prompt_tokens_mean(const TrafficSample& traffic) {
  double sum = 0;
  for (const SampledRequest& request : traffic.requests)
    sum += static_cast<double>(request.prompt_tokens);
  return sum / static_cast<double>(traffic.requests.size());
}

namespace {

/// "GPU h100-sxm, l40s · TP 1, 2, 4, 8 (usual sizes; …) · PP 1 as in the scenario".
std::string tries_text(const PlanSpace& space, const PlanSettings& settings) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " · ") + part; };
  for (const LayoutChoice& axis : space.axes) {
    std::string part = fmt::format("{} {}", axis.label, fmt::join(axis.values, ", "));
    const bool is_usual =
        axis.key == "deployment.tensor_parallel" && !settings.usual_tensor.empty();
    if (is_usual) part += " (the usual sizes; --tp names others)";
    add(part);
  }
  if (!space.fixed_layout.empty()) add(space.fixed_layout + " as in the scenario");
  return text;
}

std::string decides_text(const PlanSpace& space, const PlanSettings& settings) {
  const TrafficSample& traffic = space.traffic;
  const std::string requests = counted(traffic.count, "request");
  const auto [least, most] = settings.replications;
  const std::string seeds =
      least == most ? counted(least, "seed") : fmt::format("{} to {} seeds", least, most);
  if (space.requests().is_sampled()) {
    return fmt::format("decided by {} of samples of {}, the cheapest by all of them",
                       traffic.is_recorded ? fmt::format("{} to {} draws", least, most) : seeds,
                       requests);
  }
  return traffic.is_recorded ? fmt::format("decided by the trace's {}", requests)
                             : fmt::format("decided by {} of {}", seeds, requests);
}

}  // namespace

std::string sized_load_text(const TrafficSample& traffic, const PlanSettings& settings) {
  return fmt::format("{} requests/s, {} more ([plan] margin)",
                     brief(traffic.rate.value() * (1 + settings.margin)), percent(settings.margin));
}

std::string question_text(const PlanSpace& space, const PlanSettings& settings, int width,
                          bool has_margin) {
  constexpr int rest = 9;  // under the first word's text
  const TrafficSample& traffic = space.traffic;
  std::string load =
      fmt::format("load   {} requests/s · {} prompt and {} output tokens per request",
                  brief(traffic.rate.value()), brief(prompt_tokens_mean(traffic)),
                  brief(traffic.output_tokens_mean()));
  if (has_margin && settings.margin > 0) {
    load += fmt::format(" · sized for {}: latencies and throughput are at that load",
                        sized_load_text(traffic, settings));
  }
  std::string text = wrapped(load, width, 2, rest);
  text += wrapped("SLO    " + slo_text(space.slo), width, 2, rest);
  text += wrapped("tries  " + tries_text(space, settings), width, 2, rest);
  text += wrapped(fmt::format("taken  {}{} · predictor {} · {}", space.model,
                              space.engine.empty() ? "" : " · engine " + space.engine,
                              space.predictor, decides_text(space, settings)),
                  width, 2, rest);
  std::string prices;
  bool any_given = false, all_given = true;
  for (const PricedGpu& priced : space.prices) {
    prices +=
        fmt::format("{}{} {:.2f}", prices.empty() ? "" : ", ", priced.gpu, priced.dollars_per_hour);
    any_given |= priced.is_given;
    all_given &= priced.is_given;
  }
  const char* origin = all_given   ? "from [plan.prices]"
                       : any_given ? "from [plan.prices], else the GPU files (orders of "
                                     "magnitude)"
                                   : "from the GPU files, orders of magnitude; [plan.prices] "
                                     "sets yours";
  const char* paid = !has_margin
                         ? "GPUs in use only: without idle GPUs of their nodes, network or spares"
                     : settings.pay == PlanPay::nodes
                         ? "whole nodes are paid for; no network"
                         : "ranked by the GPUs in use; no network ([plan] pay = \"nodes\" ranks "
                           "by whole nodes)";
  return text + wrapped(fmt::format("$      {} per GPU hour, {} · {}", prices, origin, paid), width,
                        2, rest);
}

std::string cost_text(const Plan& plan, std::size_t candidate) {
  const CostRange range = plan.cost_range(candidate);
  if (range.faster == range.slower || plan.confidence(candidate) == nullptr)
    return fmt::format("{:.2f}", range.predicted);
  const std::string slower = range.slower < std::numeric_limits<double>::infinity()
                                 ? fmt::format("{:.2f}", range.slower)
                                 : std::string("?");
  return fmt::format("{:.2f} ({:.2f}–{})", range.predicted, range.faster, slower);
}

std::string error_text(const Plan& plan, const DeploymentConfidence& cheapest) {
  std::string families;
  for (const FamilyError& family : cheapest.error.families) {
    if (family.part() < 0.1 * cheapest.error.mean_absolute()) break;
    families +=
        fmt::format("{}{} is {} of it", families.empty() ? "" : ", ", family_title(family.family),
                    percent(family.part() / cheapest.error.mean_absolute()));
  }
  const CostRange range = plan.cost_range(cheapest.candidate);
  std::string consequence = "the answer does not change";
  if (range.slower > range.predicted) {
    consequence = cheapest.units_slower
                      ? fmt::format("if steps are that much slower, it takes {} of them",
                                    *cheapest.units_slower)
                      : std::string("if steps are that much slower, no number is enough");
  } else if (range.faster < range.predicted) {
    consequence =
        fmt::format("if steps are that much faster, {} of them are enough", *cheapest.units_faster);
  }
  return fmt::format("step-time uncertainty ±{} ({:g} % interval; {}): {}",
                     percent(cheapest.half_width), 100 * plan.settings.confidence, families,
                     consequence);
}

std::string doubt_text(const Plan& plan, std::size_t other) {
  const std::size_t best = *plan.result.cheapest;
  const CostRange range = plan.cost_range(best), others = plan.cost_range(other);
  const DeploymentConfidence* sure = plan.confidence(best);
  const DeploymentConfidence* others_sure = plan.confidence(other);
  const auto needs = [](const std::optional<int>& units) {
    return units ? "needs " + counted(*units, "replica") : std::string("cannot meet the SLO");
  };
  std::string why;
  if (sure != nullptr && range.slower > range.predicted) {
    why = fmt::format(": if steps are {} slower, the ${:.2f} choice {}", percent(sure->half_width),
                      range.predicted, needs(sure->units_slower));
  } else if (others_sure != nullptr && others.faster < others.predicted) {
    why = fmt::format(": if steps are {} faster, it {}", percent(others_sure->half_width),
                      needs(others_sure->units_faster));
  }
  return fmt::format("{} (${} an hour) cannot be ruled out as cheapest{}", with_units(plan, other),
                     cost_text(plan, other), why);
}

std::string month_text(double dollars_per_hour) {
  const double dollars = dollars_per_hour * hours_a_month;
  return grouped(dollars, 0);
}

std::string dollars_text(double dollars_per_hour) {
  return fmt::format("${} an hour, ${} a month", grouped(dollars_per_hour, 2),
                     month_text(dollars_per_hour));
}

std::string nodes_text(const Plan& plan, std::size_t candidate) {
  const PlanCandidate& choice = plan.space.candidates[candidate];
  const int units = plan.result.candidates[candidate].units;
  return fmt::format("{}: {}", counted(choice.nodes(units), "whole node"),
                     dollars_text(choice.dollars_of_nodes(units)));
}

std::string spare_text(const Plan& plan) {
  if (!plan.result.cheapest_spared) return "N+1: no choice has room for a spare replica";
  const std::size_t best = *plan.result.cheapest, spared = *plan.result.cheapest_spared;
  const CandidateResult& result = plan.result.candidates[spared];
  const std::string unit =
      plan.space.keys[spared].replicas.size() > 1 ? "sets of pools" : "replicas";
  return fmt::format("N+1 (meets the SLO with one down): {}{} {}, {}",
                     spared == best ? "" : choice_of(plan, spared) + ", ", result.units + 1, unit,
                     dollars_text(result.objectives.spared_dollars_per_hour));
}

std::string seeds_text(const Plan& plan, std::size_t candidate) {
  const CandidateResult& result = plan.result.candidates[candidate];
  std::vector<std::string> shares;
  for (const double share : result.attainments) shares.push_back(attained(share) + " %");
  std::string text = fmt::format("meets the SLO for {} of requests", fmt::join(shares, ", "));
  if (shares.size() > 1) {
    text += fmt::format(" ({}; lower end of their interval {} %)",
                        plan.space.traffic.is_recorded ? "samples" : "seeds",
                        attained(result.attainment_low));
  }
  if (plan.is_sampled) {
    text += result.is_checked_whole ? "; the first is all of the traffic, the others are samples"
                                    : "; samples, not yet checked on all of the traffic";
  }
  return text;
}

std::string_view fate_title(CandidateFate fate) {
  constexpr auto titles = std::to_array<std::string_view>(  // in the order of CandidateFate
      {"not possible", "too slow even without queueing", "cannot win", "miss the SLO", "undecided",
       "hold"});
  static_assert(titles.size() == EnumNames<CandidateFate>::names.size());
  return titles[static_cast<std::size_t>(fate)];
}

std::string reason_of(const Plan& plan, std::size_t candidate) {
  const CandidateResult& result = plan.result.candidates[candidate];
  if (result.fate != CandidateFate::beaten) return result.reason;
  const auto pair = std::ranges::find(plan.result.beaten_by, candidate,
                                      &std::pair<std::size_t, std::size_t>::first);
  return "beaten by " + with_units(plan, pair->second);
}

std::vector<ReasonGroup<std::string>> reasons_of(const Plan& plan, CandidateFate fate) {
  std::vector<ReasonGroup<std::string>> groups;
  for (std::size_t i = 0; i < plan.result.candidates.size(); ++i) {
    const CandidateResult& result = plan.result.candidates[i];
    if (result.fate != fate) continue;
    std::string member = choice_of(plan, i);
    if (fate == CandidateFate::beaten)
      member += fmt::format(" (${:.2f}/h at least)", result.objectives.dollars_per_hour);
    add_reason(groups, reason_of(plan, i), std::move(member));
  }
  return groups;
}

}  // namespace foretoken
