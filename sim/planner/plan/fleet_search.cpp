#include "sim/planner/plan/fleet_search.hpp"

#include "sim/base/error.hpp"
#include "sim/planner/plan/plan_metrics.hpp"

namespace foretoken {
namespace {

// Halving finds one of eight in three more answers; below that counting is as quick.
constexpr int single_steps = 4;

}  // namespace

FleetSearch::FleetSearch(std::size_t candidate, int least, int most, int guess,
                         const FleetSearchSettings& settings)
    : candidate_(candidate),
      settings_(settings),
      most_(most),
      unit_(least, most, guess),
      fleet_(least, most, guess),
      trial_(settings.target, settings.unit) {}

FleetSearch FleetSearch::guided(std::size_t candidate, int least, int most, int guess,
                                const FleetSearchSettings& settings) {
  FleetSearch search(candidate, least, most, guess, settings);
  search.begin_fleets(guess);
  return search;
}

FleetSearch FleetSearch::upward(std::size_t candidate, int least, int most,
                                const FleetSearchSettings& settings) {
  FleetSearch search(candidate, least, most, least, settings);
  search.begin_fleets(least);
  search.fleet_ = CountSearch::upward(least, most, single_steps);
  return search;
}

FleetSearch FleetSearch::exhaustive(std::size_t candidate, int most,
                                    const FleetSearchSettings& settings) {
  FleetSearch search(candidate, 1, most, 1, settings);
  search.begin_fleets(1);
  search.fleet_ = CountSearch::one_by_one(1, most);
  return search;
}

std::vector<PlanProbe> FleetSearch::wanted() const {
  if (!impossible_.empty()) return {};
  const auto units = asks_units() ? unit_.next() : fleet_.next();
  if (!units) return {};
  std::vector<PlanProbe> probes;
  for (int i = 0; i < trial_.wanted(); ++i) {
    probes.push_back({.candidate = candidate_,
                      .kind = asks_units() ? PlanProbe::Kind::unit : PlanProbe::Kind::fleet,
                      .units = *units,
                      .replication = trial_.count() + i,
                      .load = settings_.load});
  }
  return probes;
}

void FleetSearch::take(const std::vector<const RunOutcome*>& outcomes) {
  for (const RunOutcome* outcome : outcomes) {
    if (outcome->status != RunStatus::ran) {
      impossible_ = outcome->message;
      return;
    }
    trial_.add(attainment_of(outcome->report));
  }
  if (const auto holds = trial_.verdict()) settle(*holds);
}

void FleetSearch::settle(bool holds) {
  if (!asks_units()) {
    fleet_.take(*fleet_.next(), holds);
    trial_ = SloTrial(settings_.target, settings_.fleet);
    return;
  }
  unit_.take(*unit_.next(), holds);
  trial_ = SloTrial(settings_.target, settings_.unit);
  if (!unit_.next()) begin_fleets(unit_.found().value_or(most_));
}

void FleetSearch::begin_fleets(int estimate) {
  estimate_ = estimate;
  fleet_ = CountSearch(fleet_.fails() + 1, most_, estimate);
  trial_ = SloTrial(settings_.target, settings_.fleet);
}

void FleetSearch::prefer_at_most(int units) {
  if (!impossible_.empty()) return;
  // A question that is half answered stays as it is.
  if (trial_.count() > 0) return;
  if (asks_units() && unit_.fails() >= units) begin_fleets(units);
  (asks_units() ? unit_ : fleet_).prefer_at_most(units);
}

}  // namespace foretoken
