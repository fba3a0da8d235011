#include "sim/planner/goals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/nearest_name.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

// Where a run stops being limited by what its GPUs compute.
constexpr double full_cache = 0.99;  // share of KV blocks
constexpr double idle_gpus = 0.5;    // share of GPU time with a step running

}  // namespace

std::vector<const Figure*> goals(const std::vector<std::string>& names) {
  std::vector<const Figure*> chosen;
  std::vector<std::string_view> known;
  for (const Figure& figure : figures()) {
    known.push_back(figure.name);
    if (names.empty() && !figure.goal.empty()) chosen.push_back(&figure);
  }
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end())
      throw ConfigError({"--goal " + name}, unknown_name_message("figure", name, known));
    chosen.push_back(&figure_named(name));
  }
  return chosen;
}

std::optional<double> badness(const Figure& goal, const Report& report) {
  auto value = goal.in(report);
  if (value && goal.better == Better::higher) *value = -*value;
  return value;
}

bool is_served(const Report& report) {
  const Report::Requests& requests = report.requests;
  return requests.completed > 0 && requests.failed == 0 && requests.rejected == 0;
}

bool are_tied(const Figure& goal, const Report& one, const Report& other) {
  const auto a = interval_of(one, goal), b = interval_of(other, goal);
  if (a && b && a->low <= b->high && b->low <= a->high) return true;
  return brief(goal.value(one)) == brief(goal.value(other));
}

std::vector<std::string> losses(const Report& report) {
  std::vector<std::string> told;
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0)
      told.push_back(fmt::format("{} of {} requests {}", count, report.requests.arrived, what));
  };
  add(report.requests.failed, "failed, so it is not ranked");
  add(report.requests.rejected, "were rejected, so it is not ranked");
  add(report.requests.timed_out, "timed out");
  return told;
}

std::string bound_of(const Report& report) {
  if (report.kv.preemptions > 0 || report.kv.peak > full_cache) return "KV cache full";
  if (report.gpu_busy < idle_gpus)
    return fmt::format("traffic (GPUs {:.0f} % busy)", 100 * report.gpu_busy);
  double sum = 0;
  for (const NamedSeconds& family : report.time_by) sum += family.seconds;
  const auto largest = std::ranges::max_element(report.time_by, {}, &NamedSeconds::seconds);
  return sum > 0 ? fmt::format("{} {:.0f} %", largest->name, 100 * largest->seconds / sum)
                 : "nothing ran";
}

}  // namespace foretoken
