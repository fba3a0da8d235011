// What "best" can mean when runs are set side by side.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/planner/run_figures.hpp"

namespace foretoken {

struct Goal {
  std::string_view name;    // "lowest TTFT p99"
  std::string_view figure;  // that it is about, by the name of its interval
  /// Smaller is better; nullopt: the run does not say.
  std::optional<double> (*value)(const RunFigures&);
};

std::span<const Goal> goals();

/// Whether a run may be the best: it served every request that it was sent.
bool is_served(const RunFigures& figures);

/// Whether nobody can say which of two runs is better by a goal that both speak to: the intervals of
/// its figure overlap, or, where there are none, three digits do not tell them apart.
bool are_tied(const Goal& goal, const RunFigures& one, const RunFigures& other);

/// What became of requests that were not served, a sentence each: "3 of 10 requests failed, so it is
/// not among the best".
std::vector<std::string> losses(const RunFigures& figures);

}  // namespace foretoken
