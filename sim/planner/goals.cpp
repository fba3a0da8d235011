#include "sim/planner/goals.hpp"

#include <fmt/format.h>

#include <array>

namespace foretoken {
namespace {

constexpr auto all_goals = std::to_array<Goal>({
    {"lowest TTFT p99", [](const RunFigures& f) -> std::optional<double> { return f.ttft_p99_ms; }},
    {"lowest TPOT p99", [](const RunFigures& f) -> std::optional<double> { return f.tpot_p99_ms; }},
    {"highest throughput",
     [](const RunFigures& f) -> std::optional<double> { return -f.output_tokens_per_s; }},
    {"highest throughput per GPU",
     [](const RunFigures& f) -> std::optional<double> { return -f.output_tokens_per_s_gpu; }},
    {"highest goodput",
     [](const RunFigures& f) -> std::optional<double> {
       if (!f.has_slo) return std::nullopt;
       return -f.goodput_per_s;
     }},
    {"highest goodput per GPU",
     [](const RunFigures& f) -> std::optional<double> {
       if (!f.has_slo) return std::nullopt;
       return -f.goodput_per_s / f.gpus;
     }},
    {"lowest cost per token",
     [](const RunFigures& f) -> std::optional<double> { return f.dollars_per_million; }},
});

}  // namespace

std::span<const Goal> goals() { return all_goals; }

bool is_served(const RunFigures& figures) {
  return figures.completed > 0 && figures.failed == 0 && figures.rejected == 0;
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
