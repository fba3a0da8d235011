#include "sim/planner/plan/plan_standings.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// Real engines against the bounds, until a neighbour knows better.
constexpr double ratio_usual = 1.25;
// What a latency that was seen once may be more than it is: alone, and beside another's under the
// same requests.
constexpr double seen_alone = 0.9, seen_beside = 0.95;

}  // namespace

PlanStandings::PlanStandings(const std::vector<PlanCandidate>& candidates, double load,
                             double output_tokens_per_s, bool wants_front)
    : candidates_(candidates),
      load_(load),
      output_tokens_per_s_(output_tokens_per_s),
      wants_front_(wants_front),
      known_(candidates.size()) {
  result.candidates.resize(candidates.size());
}

void PlanStandings::close(std::size_t i, CandidateFate fate, std::string reason) {
  known_[i].is_open = false;
  result.candidates[i].fate = fate;
  result.candidates[i].reason = std::move(reason);
}

void PlanStandings::see(std::size_t i, double latency_ms, const std::optional<Beside>& beside) {
  double least = seen_alone * latency_ms;
  if (beside && beside->latency_ms > 0) {
    const double usual = objectives_of(beside->who).latency_ms / beside->latency_ms;
    least = seen_beside * latency_ms * std::min(1.0, usual);
  }
  known_[i].seen_ms = std::max(known_[i].seen_ms, least);
}

int PlanStandings::least_units(std::size_t i) const {
  // Room for rounding: a load that is met exactly is met.
  constexpr double slack = 1e-9;
  const double units = std::ceil(candidates_[i].bounds.units * load_ - slack);
  return std::max(1, static_cast<int>(std::min(units, 1e9)));
}

int PlanStandings::best_units(std::size_t i) const {
  return std::max(least_units(i), known_[i].fails + 1);
}

Objectives PlanStandings::best_case(std::size_t i) const {
  return objectives(i, best_units(i),
                    std::max(candidates_[i].bounds.latency_ms, known_[i].seen_ms));
}

Objectives PlanStandings::objectives(std::size_t i, int units, double latency_ms) const {
  return {candidates_[i].dollars_per_hour(units), latency_ms,
          output_tokens_per_s_ / (units * candidates_[i].unit_gpus),
          candidates_[i].dollars_per_hour(units + 1)};
}

bool PlanStandings::holds(std::size_t i) const {
  return !is_open(i) && result.candidates[i].fate == CandidateFate::holds;
}

std::optional<std::size_t> PlanStandings::beaten_by(const Objectives& best) const {
  for (std::size_t other = 0; other < candidates_.size(); ++other) {
    if (!holds(other)) continue;
    const Objectives& known = objectives_of(other);
    const bool leaves_spare_room = known.spared_dollars_per_hour > best.spared_dollars_per_hour;
    if (leaves_no_room(known, best) && !leaves_spare_room) return other;
    if (!wants_front_ && known.dollars_per_hour < best.dollars_per_hour) return other;
  }
  return std::nullopt;
}

std::optional<std::size_t> PlanStandings::rival(std::size_t i) const {
  Objectives best = best_case(i);
  best.latency_ms = std::numeric_limits<double>::infinity();
  std::optional<std::size_t> quickest;
  for (std::size_t other = 0; other < candidates_.size(); ++other) {
    if (!holds(other) || !leaves_no_room(objectives_of(other), best)) continue;
    if (objectives_of(other).spared_dollars_per_hour > best.spared_dollars_per_hour) continue;
    if (!quickest || objectives_of(other).latency_ms < objectives_of(*quickest).latency_ms)
      quickest = other;
  }
  return quickest;
}

int PlanStandings::room(std::size_t i) const {
  int fits = least_units(i), too_many = candidates_[i].units_max + 1;
  while (fits + 1 < too_many) {
    const int units = fits + (too_many - fits) / 2;
    const bool is_beaten =
        beaten_by(objectives(i, units, candidates_[i].bounds.latency_ms)).has_value();
    (is_beaten ? too_many : fits) = units;
  }
  return fits;
}

PlanStandings::Neighbour PlanStandings::neighbour(std::size_t i) const {
  Neighbour nearest;
  for (std::size_t other = 0; other < candidates_.size(); ++other) {
    if (!holds(other)) continue;
    const double away = unlikeness(candidates_[i], candidates_[other]);
    if (away < nearest.away) nearest = {other, away};
  }
  return nearest;
}

int PlanStandings::guess(std::size_t i) const {
  const Neighbour nearest = neighbour(i);
  double ratio = ratio_usual;
  if (nearest.who && candidates_[*nearest.who].bounds.units > 0) {
    // Its last unit is used in part; half, as far as anybody knows, unless what is usual says
    // how much: one unit that is hardly used tells nothing.
    const int units = result.candidates[*nearest.who].units;
    const double bound = candidates_[*nearest.who].bounds.units * load_;
    if (ratio * bound < units - 1 || ratio * bound > units)
      ratio = std::max(1.0, (units - 0.5) / bound);
  }
  const double units = std::ceil(ratio * candidates_[i].bounds.units * load_);
  const int most = candidates_[i].units_max;
  return std::clamp(static_cast<int>(std::min(units, 1e9)), std::min(least_units(i), most), most);
}

}  // namespace foretoken
