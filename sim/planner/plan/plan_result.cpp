#include "sim/planner/plan/plan_result.hpp"

#include <algorithm>

namespace foretoken {

std::size_t PlanResult::undecided() const {
  return static_cast<std::size_t>(
      std::ranges::count(candidates, CandidateFate::undecided, &CandidateResult::fate));
}

void PlanResult::rank(const std::vector<PlanCandidate>& choices, bool with_front) {
  std::vector<Objectives> points;
  std::vector<std::size_t> who;
  front.clear();
  cheapest.reset();
  cheapest_spared.reset();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const CandidateResult& result = candidates[i];
    if (result.fate != CandidateFate::holds) continue;
    points.push_back(result.objectives);
    who.push_back(i);
    if (result.units == choices[i].units_max) continue;  // no room for another
    const auto spared = [&](std::size_t k) {
      return std::pair(candidates[k].objectives.spared_dollars_per_hour,
                       candidates[k].objectives.latency_ms);
    };
    if (!cheapest_spared || spared(i) < spared(*cheapest_spared)) cheapest_spared = i;
  }
  for (const std::size_t k : pareto_front(points)) front.push_back(who[k]);
  if (!front.empty()) cheapest = front.front();
  if (!with_front && !front.empty()) front.resize(1);
}

}  // namespace foretoken
