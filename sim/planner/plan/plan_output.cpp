// A plan as a table for the terminal.
#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/choice_text.hpp"
#include "sim/planner/plan/plan_columns.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/planner/plan/probe_task.hpp"
#include "sim/report/command_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

/// Reasons of one fate, each with all that it holds for.
std::string reasons(const Plan& plan, CandidateFate fate, const Ink& ink, int width) {
  const auto groups = reasons_of(plan, fate);
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
                           ? "no choice meets the SLO; the reasons are below"
                           : "stopped before any choice was found to meet the SLO");
  }
  const std::size_t best = *plan.result.cheapest;
  const CandidateResult& result = plan.result.candidates[best];
  const PlanCandidate& candidate = plan.space.candidates[best];
  std::string text =
      wrapped(fmt::format("{} cheapest: {} · {} · {}", ink.good("★"), with_units(plan, best),
                          gpus_text(plan, best),
                          dollars_text(result.units * candidate.unit_dollars_per_hour)),
              width, 2, 4);
  text += wrapped(nodes_text(plan, best), width, 4, 6);
  text += wrapped(spare_text(plan), width, 4, 6);
  text += wrapped(seeds_text(plan, best), width, 4, 6);
  const DeploymentConfidence* sure = plan.confidence(best);
  if (sure != nullptr && sure->load_holds) {
    text += wrapped(fmt::format("holds up to {} requests/s, {} above the load{}",
                                brief(*sure->load_holds * plan.space.traffic.rate.value()),
                                percent(std::max(0.0, *sure->load_holds - 1)),
                                sure->is_sustained ? "" : fmt::format("; {}", burst_words)),
                    width, 4, 6);
  }
  if (sure != nullptr) text += wrapped(error_text(plan, *sure), width, 4, 4);
  for (const std::size_t other : plan.as_good_as_cheapest)
    text += wrapped("≈ " + doubt_text(plan, other), width, 4, 6);
  return text + ink.quiet(command_lines(command_words(plan, best, scenario), width, 4));
}

/// "1 meets", "2 meet".
std::string with_verb(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string runs_text(const Plan& plan, int width) {
  const auto saved =
      plan.counted_runs > plan.runs
          ? 1.0 - static_cast<double>(plan.runs) / static_cast<double>(plan.counted_runs)
          : 0.0;
  std::size_t counts[EnumNames<CandidateFate>::names.size()] = {};
  for (const CandidateResult& result : plan.result.candidates)
    ++counts[static_cast<std::size_t>(result.fate)];
  const auto of = [&](CandidateFate fate) { return counts[static_cast<std::size_t>(fate)]; };
  std::string choices = fmt::format(
      "{}: {} the SLO, {} it, {} beaten, {} too slow even without queueing, {} impossible",
      counted(static_cast<std::int64_t>(plan.result.candidates.size()), "choice"),
      with_verb(of(CandidateFate::holds), "meets", "meet"),
      with_verb(of(CandidateFate::fails), "misses", "miss"), of(CandidateFate::beaten),
      of(CandidateFate::too_slow), of(CandidateFate::impossible));
  if (of(CandidateFate::undecided) > 0)
    choices += fmt::format(", {} undecided", of(CandidateFate::undecided));
  return '\n' + wrapped(choices, width, 2, 4) +
         wrapped(fmt::format("{}{}; trying every replica count of every choice takes at least "
                             "{} ({} saved)",
                             counted(static_cast<std::int64_t>(plan.runs), "run"),
                             plan.close_runs > 0
                                 ? fmt::format(" and {} for intervals and the highest load",
                                               grouped(static_cast<std::int64_t>(plan.close_runs)))
                                 : "",
                             grouped(static_cast<std::int64_t>(plan.counted_runs)), percent(saved)),
                 width, 2, 4);
}

}  // namespace

std::string plan_table(const Plan& plan, const std::string& scenario,
                       const PlanTableLayout& layout) {
  const Ink ink(layout.colour);
  const int width = layout.width;
  std::string text = question_text(plan.space, plan.settings, width) + '\n';
  if (plan.result.cheapest) {
    std::vector<std::size_t> rows = plan.holding();
    const std::size_t left_out = rows.size() - std::min(rows.size(), layout.rows_max);
    rows.resize(rows.size() - left_out);
    text += plan_columns(plan, rows, ink).fitted("", layout.colour, width).text;
    if (left_out > 0) {
      text += wrapped(fmt::format("{} more meet it and cost more: see --all or plan.csv", left_out),
                      width, 2, 2);
    }
    text += ink.quiet(wrapped(
        fmt::format(
            "★ cheapest · ≈ cannot be ruled out as cheapest · ◆ Pareto-optimal in cost, {} and "
            "tokens/s per GPU · $ for the GPUs in use, then for whole nodes, then{} with a spare "
            "replica · latencies in ms, means over seeds · in brackets the {:g} % interval "
            "(kernel-price error and seeds) · /GPU: output tokens/s at {} load",
            figure_named(plan.settings.latency + "_ms").title,
            plan.settings.pay == PlanPay::nodes ? " for whole nodes" : " for the GPUs in use",
            100 * plan.settings.confidence, plan.settings.margin > 0 ? "the sized" : "this"),
        width, 2, 2));
    text += '\n';
  }
  text += answer(plan, scenario, ink, width);
  for (const CandidateFate fate :
       {CandidateFate::beaten, CandidateFate::fails, CandidateFate::undecided,
        CandidateFate::too_slow, CandidateFate::impossible}) {
    text += reasons(plan, fate, ink, width);
  }
  return text + runs_text(plan, width);
}

}  // namespace foretoken
