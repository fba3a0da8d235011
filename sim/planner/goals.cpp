#include "sim/planner/goals.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

constexpr auto all_goals = std::to_array<Goal>({
    {"lowest TTFT p99", "ttft_p99_ms", [](const RunFigures& f) -> std::optional<double> { return f.ttft_p99_ms; }},
    {"lowest TPOT p99", "tpot_p99_ms", [](const RunFigures& f) -> std::optional<double> { return f.tpot_p99_ms; }},
    {"highest throughput", "output_tokens_per_s",
     [](const RunFigures& f) -> std::optional<double> { return -f.output_tokens_per_s; }},
    {"highest throughput per GPU", "output_tokens_per_s_gpu",
     [](const RunFigures& f) -> std::optional<double> { return -f.output_tokens_per_s_gpu; }},
    {"highest goodput", "goodput_per_s",
     [](const RunFigures& f) -> std::optional<double> {
       if (!f.has_slo) return std::nullopt;
       return -f.goodput_per_s;
     }},
    {"highest goodput per GPU", "goodput_per_s_gpu",
     [](const RunFigures& f) -> std::optional<double> {
       if (!f.has_slo) return std::nullopt;
       return -f.goodput_per_s / f.gpus;
     }},
    {"lowest cost per token", "dollars_per_million_output_tokens",
     [](const RunFigures& f) -> std::optional<double> { return f.dollars_per_million; }},
});

}  // namespace

std::span<const Goal> goals() { return all_goals; }

bool is_served(const RunFigures& figures) {
  return figures.completed > 0 && figures.failed == 0 && figures.rejected == 0;
}

bool are_tied(const Goal& goal, const RunFigures& one, const RunFigures& other) {
  const auto a = interval_of(one, goal.figure), b = interval_of(other, goal.figure);
  if (a && b && a->low <= b->high && b->low <= a->high) return true;
  return brief(std::abs(*goal.value(one))) == brief(std::abs(*goal.value(other)));
}

std::vector<std::string> losses(const RunFigures& figures) {
  std::vector<std::string> told;
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0)
      told.push_back(fmt::format("{} of {} requests {}", count, figures.arrived, what));
  };
  add(figures.failed, "failed, so it is not among the best");
  add(figures.rejected, "were rejected, so it is not among the best");
  add(figures.timed_out, "timed out");
  return told;
}

}  // namespace foretoken
