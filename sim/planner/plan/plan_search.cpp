#include "sim/planner/plan/plan_search.hpp"

#include <algorithm>
#include <utility>

#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/planner/plan/plan_standings.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

constexpr double near_enough = 3;  // for a neighbour's answer to be asked of fleets at once
// Where the bounds, and what is guessed from them, say so few, counting up is the quickest.
constexpr int few_by_bounds = 4, few_by_guess = 8;

class Search {
 public:
  Search(const std::vector<PlanCandidate>& candidates, const PlanSearchSettings& settings,
         PlanRuns& runs)
      : candidates_(candidates),
        settings_(settings),
        runs_(runs),
        standings_(candidates, settings.fleet.load, settings.output_tokens_per_s,
                   settings.wants_front),
        searches_(candidates.size()),
        looks_(candidates.size()) {}

  PlanResult find() {
    rule_out();
    try {
      while (round()) {
      }
    } catch (const PlanStopped&) {
      result_.is_complete = false;
    }
    conclude();
    return std::move(result_);
  }

 private:
  /// Those that the bounds alone forbid.
  void rule_out() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const PlanCandidate& candidate = candidates_[i];
      if (!candidate.impossible.empty()) {
        close(i, CandidateFate::impossible, candidate.impossible);
      } else if (settings_.is_exhaustive) {
        continue;
      } else if (!candidate.bounds.too_large.empty()) {
        close(i, CandidateFate::impossible, candidate.bounds.too_large);
      } else if (candidate.bounds.attainment < settings_.fleet.target) {
        close(i, CandidateFate::too_slow,
              fmt::format("even without queueing {} % of requests would meet the SLO",
                          attained(candidate.bounds.attainment)));
      } else if (standings_.least_units(i) > candidate.units_max) {
        close(i, CandidateFate::too_slow,
              fmt::format("even without queueing the load takes {} of them; at most {} allowed",
                          standings_.least_units(i), candidate.units_max));
      }
    }
  }

  void close(std::size_t i, CandidateFate fate, std::string reason) {
    standings_.close(i, fate, std::move(reason));
  }

  void prune() {
    if (settings_.is_exhaustive) return;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!standings_.is_open(i)) continue;
      const Objectives best = standings_.best_case(i);
      const auto other = standings_.beaten_by(best);
      if (!other) continue;
      result_.candidates[i].objectives = best;
      result_.candidates[i].units = standings_.best_units(i);
      beaten_.emplace_back(i, *other);
      close(i, CandidateFate::beaten, "");
    }
  }

  void begin(std::size_t i) {
    const FleetSearchSettings& fleet = settings_.fleet;
    const int most = candidates_[i].units_max;
    if (settings_.is_exhaustive) {
      searches_[i] = FleetSearch::exhaustive(i, most, fleet);
    } else if (standings_.least_units(i) <= few_by_bounds && standings_.guess(i) <= few_by_guess) {
      searches_[i] = FleetSearch::upward(i, standings_.least_units(i), most, fleet);
    } else if (standings_.neighbour(i).away <= near_enough) {
      searches_[i] =
          FleetSearch::guided(i, standings_.least_units(i), most, standings_.guess(i), fleet);
    } else {
      searches_[i].emplace(i, standings_.least_units(i), most, standings_.guess(i), fleet);
    }
  }

  /// Some runs of some candidates; false: nothing is left to run.
  bool round() {
    prune();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (standings_.is_open(i)) order.push_back(i);
    }
    if (order.empty()) return false;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      // Whoever has begun goes on: half an answer is none.
      return std::pair(searches_[i] ? 0 : 1, candidates_[i].dollars_per_hour(standings_.guess(i)));
    });
    if (order.size() > settings_.width) order.resize(settings_.width);
    std::vector<PlanProbe> probes;
    std::vector<std::size_t> counts;
    for (const std::size_t i : order) {
      if (!searches_[i]) begin(i);
      if (!settings_.is_exhaustive) searches_[i]->prefer_at_most(standings_.room(i));
      std::vector<PlanProbe> wanted = look(i);
      if (wanted.empty()) wanted = searches_[i]->wanted();
      probes.insert(probes.end(), wanted.begin(), wanted.end());
      counts.push_back(wanted.size());
    }
    const std::vector<const RunOutcome*> outcomes = runs_.run(probes);
    auto next = outcomes.begin();
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto end = next + static_cast<std::ptrdiff_t>(counts[k]);
      take(order[k], {next, end});
      next = end;
    }
    if (settings_.progress) {
      result_.rank(candidates_, settings_.wants_front);
      settings_.progress(result_);
    }
    return true;
  }

  /// Before the first run of a fleet that latency alone could save: a look at it, and at the rival
  /// under the same requests.
  std::vector<PlanProbe> look(std::size_t i) {
    if (!settings_.looks_allow || settings_.is_exhaustive) return {};
    const std::vector<PlanProbe> wanted = searches_[i]->wanted();
    if (searches_[i]->asks_units() || wanted.empty() || wanted.front().replication > 0) return {};
    if (wanted.front().units == looks_[i].units) return {};
    const auto other = standings_.rival(i);
    if (!other) return {};
    looks_[i] = {wanted.front().units, other};
    PlanProbe mine = wanted.front();
    mine.kind = PlanProbe::Kind::look;
    PlanProbe rivals = mine;
    rivals.candidate = *other;
    rivals.units = result_.candidates[*other].units;
    return {mine, rivals};
  }

  /// One that holds is as quick as that, or as quick as it is beside its rival.
  /// One that has missed too often already would not hold under all of the traffic; false: neither.
  bool take_look(std::size_t i, const RunOutcome& mine, const RunOutcome& rivals) {
    const std::size_t other = *std::exchange(looks_[i].rival, std::nullopt);
    if (mine.status != RunStatus::ran) return true;
    const double attainment = attainment_of(mine.report);
    if ((1 - attainment) * arrived_in(mine.report) > *settings_.looks_allow) return true;
    if (attainment >= settings_.fleet.target && rivals.status == RunStatus::ran)
      standings_.see(i, latency_of(mine), PlanStandings::Beside{other, latency_of(rivals)});
    return false;
  }

  [[nodiscard]] double latency_of(const RunOutcome& outcome) const {
    return figure_values(outcome.report)[settings_.latency_metric];
  }

  /// A fleet that holds in one run tells what latency its choice has at best.
  void look_first(std::size_t i, const std::vector<const RunOutcome*>& outcomes) {
    if (settings_.is_exhaustive || searches_[i]->asks_units()) return;
    const bool is_first = searches_[i]->wanted().front().replication == 0;
    for (const RunOutcome* outcome : outcomes) {
      if (outcome->status != RunStatus::ran ||
          attainment_of(outcome->report) < settings_.fleet.target)
        continue;
      std::optional<PlanStandings::Beside> beside;
      if (const auto other = standings_.rival(i); other && is_first)
        beside = {*other, latency_of(*result_.candidates[*other].runs.front())};
      standings_.see(i, latency_of(*outcome), beside);
    }
  }

  void take(std::size_t i, std::vector<const RunOutcome*> outcomes) {
    FleetSearch& search = *searches_[i];
    CandidateResult& result = result_.candidates[i];
    result.probes += outcomes.size();
    if (looks_[i].rival) {
      if (!take_look(i, *outcomes[0], *outcomes[1])) return;
      outcomes.resize(1);
    }
    look_first(i, outcomes);
    search.take(outcomes);
    standings_.take_failure(i, search.fails());
    result.estimate = search.estimate();
    if (!search.is_over()) return;
    if (!search.impossible().empty())
      return close(i, CandidateFate::impossible, search.impossible());
    if (!search.units()) {
      result.objectives = standings_.best_case(i);
      const int most = candidates_[i].units_max;
      return close(i, CandidateFate::fails,
                   most == 1
                       ? std::string("one, the most allowed, misses the SLO")
                       : fmt::format("{} of them, the most allowed, still miss the SLO", most));
    }
    result.units = *search.units();
    close(i, CandidateFate::holds, "");
    read_fleet(i);
  }

  /// The fleet's runs again, from memory.
  void read_fleet(std::size_t i) {
    CandidateResult& result = result_.candidates[i];
    SloTrial trial(settings_.fleet.target, settings_.fleet.fleet);
    while (trial.wanted() > 0) {
      const auto outcome = runs_.run({{.candidate = i,
                                       .kind = PlanProbe::Kind::fleet,
                                       .units = result.units,
                                       .replication = trial.count(),
                                       .load = settings_.fleet.load}});
      result.runs.push_back(outcome.front());
      result.attainments.push_back(attainment_of(outcome.front()->report));
      trial.add(result.attainments.back());
    }
    result.attainment_low = trial.lower_end();
    result.metrics.assign(figures().size(), 0.0);
    for (const RunOutcome* run : result.runs) {
      const std::vector<double> values = figure_values(run->report);
      for (std::size_t m = 0; m < values.size(); ++m)
        result.metrics[m] += values[m] / static_cast<double>(result.runs.size());
    }
    result.objectives =
        standings_.objectives(i, result.units, result.metrics[settings_.latency_metric]);
  }

  void conclude() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (standings_.is_open(i)) result_.candidates[i].reason = "stopped before it was decided";
    }
    result_.rank(candidates_, settings_.wants_front);
    result_.beaten_by = beaten_;
  }

  const std::vector<PlanCandidate>& candidates_;
  const PlanSearchSettings& settings_;
  PlanRuns& runs_;
  PlanStandings standings_;
  PlanResult& result_ = standings_.result;
  std::vector<std::optional<FleetSearch>> searches_;
  struct Look {
    int units = 0;                                    // that were looked at
    std::optional<std::size_t> rival = std::nullopt;  // while it is on its way
  };
  std::vector<Look> looks_;
  std::vector<std::pair<std::size_t, std::size_t>> beaten_;
};

}  // namespace

PlanResult search_plan(const std::vector<PlanCandidate>& candidates,
                       const PlanSearchSettings& settings, PlanRuns& runs) {
  return Search(candidates, settings, runs).find();
}

}  // namespace foretoken
