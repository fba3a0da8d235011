#include "sim/planner/plan/plan_search.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

// Real engines against the bounds, until a neighbour knows better.
constexpr double ratio_usual = 1.25;
constexpr double other_hardware = 4;  // as far as 16 times the ranks
constexpr double near_enough = 3;     // for a neighbour's answer to be asked of fleets at once
// Where the bounds, and what is guessed from them, say so few, counting up is the quickest.
constexpr int few_by_bounds = 4, few_by_guess = 8;

/// "8" as {8}, "1:3" as {1, 3}; empty: nothing of the kind.
std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (const char* begin = text.data();;) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(begin, end, number);
    if (parsed.ec != std::errc() || number <= 0) return {};
    numbers.push_back(number);
    if (parsed.ptr == end) return numbers;
    if (*parsed.ptr != ':') return {};
    begin = parsed.ptr + 1;
  }
}

/// How unlike two candidates are: doublings of numbers, other things counted apiece.
double distance(const PlanCandidate& one, const PlanCandidate& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    if (one.values[i] == other.values[i]) continue;
    const std::vector<double> a = numbers_in(one.values[i]), b = numbers_in(other.values[i]);
    if (a.empty() || a.size() != b.size()) {
      sum += other_hardware;
      continue;
    }
    for (std::size_t k = 0; k < a.size(); ++k) sum += std::abs(std::log2(a[k] / b[k]));
  }
  return sum;
}

class Search {
 public:
  Search(const std::vector<PlanCandidate>& candidates, const PlanSearchSettings& settings,
         PlanRuns& runs)
      : candidates_(candidates), settings_(settings), runs_(runs) {
    result_.candidates.resize(candidates.size());
    open_.resize(candidates.size(), true);
    searches_.resize(candidates.size());
    seen_ms_.resize(candidates.size(), 0.0);
  }

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
              fmt::format("even without queueing {} of requests would meet the SLO",
                          percent(candidate.bounds.attainment)));
      } else if (least_units(i) > candidate.units_max) {
        close(i, CandidateFate::too_slow,
              fmt::format("even without queueing the load takes {} of them; {} are allowed",
                          least_units(i), candidate.units_max));
      }
    }
  }

  void close(std::size_t i, CandidateFate fate, std::string reason) {
    open_[i] = false;
    result_.candidates[i].fate = fate;
    result_.candidates[i].reason = std::move(reason);
  }

  [[nodiscard]] int least_units(std::size_t i) const {
    // Room for rounding: a load that is met exactly is met.
    constexpr double slack = 1e-9;
    const double units = std::ceil(candidates_[i].bounds.units * settings_.fleet.load - slack);
    return std::max(1, static_cast<int>(std::min(units, 1e9)));
  }

  /// What the candidate could be at best, by all that is known of it.
  [[nodiscard]] int best_units(std::size_t i) const {
    return std::max(least_units(i), searches_[i] ? searches_[i]->fails() + 1 : 1);
  }
  [[nodiscard]] Objectives best_case(std::size_t i) const {
    return objectives(i, best_units(i), std::max(candidates_[i].bounds.latency_ms, seen_ms_[i]));
  }

  [[nodiscard]] Objectives objectives(std::size_t i, int units, double latency_ms) const {
    return {candidates_[i].dollars_per_hour(units), latency_ms,
            settings_.output_tokens_per_s / (units * candidates_[i].unit_gpus),
            candidates_[i].dollars_per_hour(units + 1)};
  }

  /// The known deployment that leaves candidate `i` no room if it can be no better than `best`;
  /// nullopt: none does.
  [[nodiscard]] std::optional<std::size_t> beaten_by(const Objectives& best) const {
    if (settings_.is_exhaustive) return std::nullopt;
    for (std::size_t other = 0; other < candidates_.size(); ++other) {
      if (open_[other] || result_.candidates[other].fate != CandidateFate::holds) continue;
      const Objectives& known = result_.candidates[other].objectives;
      const bool leaves_spare_room = known.spared_dollars_per_hour > best.spared_dollars_per_hour;
      if (leaves_no_room(known, best) && !leaves_spare_room) return other;
      if (!settings_.wants_front && known.dollars_per_hour < best.dollars_per_hour) return other;
    }
    return std::nullopt;
  }

  /// The most units with which candidate `i` would not be beaten already.
  [[nodiscard]] int room(std::size_t i) const {
    int fits = least_units(i), too_many = candidates_[i].units_max + 1;
    while (fits + 1 < too_many) {
      const int units = fits + (too_many - fits) / 2;
      const bool is_beaten =
          beaten_by(objectives(i, units, candidates_[i].bounds.latency_ms)).has_value();
      (is_beaten ? too_many : fits) = units;
    }
    return fits;
  }

  void prune() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!open_[i]) continue;
      const Objectives best = best_case(i);
      const auto other = beaten_by(best);
      if (!other) continue;
      result_.candidates[i].objectives = best;
      result_.candidates[i].units = best_units(i);
      beaten_.emplace_back(i, *other);
      close(i, CandidateFate::beaten, "");
    }
  }

  /// The nearest candidate whose fleet is known, and how far it is.
  struct Neighbour {
    std::optional<std::size_t> who;
    double away = std::numeric_limits<double>::infinity();
  };
  [[nodiscard]] Neighbour neighbour(std::size_t i) const {
    Neighbour nearest;
    for (std::size_t other = 0; other < candidates_.size(); ++other) {
      if (open_[other] || result_.candidates[other].fate != CandidateFate::holds) continue;
      const double away = distance(candidates_[i], candidates_[other]);
      if (away < nearest.away) nearest = {other, away};
    }
    return nearest;
  }

  /// What the bounds say, times what a neighbour took more than its own.
  [[nodiscard]] int guess(std::size_t i) const {
    const Neighbour nearest = neighbour(i);
    double ratio = ratio_usual;
    if (nearest.who && candidates_[*nearest.who].bounds.units > 0) {
      // Its last unit is used in part; half, as far as anybody knows, unless what is usual says
      // how much: one unit that is hardly used tells nothing.
      const int units = result_.candidates[*nearest.who].units;
      const double bound = candidates_[*nearest.who].bounds.units * settings_.fleet.load;
      if (ratio * bound < units - 1 || ratio * bound > units)
        ratio = std::max(1.0, (units - 0.5) / bound);
    }
    const double units = std::ceil(ratio * candidates_[i].bounds.units * settings_.fleet.load);
    const int most = candidates_[i].units_max;
    return std::clamp(static_cast<int>(std::min(units, 1e9)), std::min(least_units(i), most), most);
  }

  void begin(std::size_t i) {
    const FleetSearchSettings& fleet = settings_.fleet;
    const int most = candidates_[i].units_max;
    if (settings_.is_exhaustive) {
      searches_[i] = FleetSearch::exhaustive(i, most, fleet);
    } else if (least_units(i) <= few_by_bounds && guess(i) <= few_by_guess) {
      searches_[i] = FleetSearch::upward(i, least_units(i), most, fleet);
    } else if (neighbour(i).away <= near_enough) {
      searches_[i] = FleetSearch::guided(i, least_units(i), most, guess(i), fleet);
    } else {
      searches_[i].emplace(i, least_units(i), most, guess(i), fleet);
    }
  }

  /// Some runs of some candidates; false: nothing is left to run.
  bool round() {
    prune();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (open_[i]) order.push_back(i);
    }
    if (order.empty()) return false;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      // Whoever has begun goes on: half an answer is none.
      return std::pair(searches_[i] ? 0 : 1, candidates_[i].dollars_per_hour(guess(i)));
    });
    if (order.size() > settings_.width) order.resize(settings_.width);
    std::vector<PlanProbe> probes;
    std::vector<std::size_t> counts;
    for (const std::size_t i : order) {
      if (!searches_[i]) begin(i);
      if (!settings_.is_exhaustive) searches_[i]->prefer_at_most(room(i));
      const std::vector<PlanProbe> wanted = searches_[i]->wanted();
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

  /// A fleet that holds in one run tells what latency its choice has at best: other seeds move it a
  /// little, fewer units make it worse.
  void look_first(std::size_t i, const std::vector<const RunOutcome*>& outcomes) {
    constexpr double between_seeds = 0.9;
    if (settings_.is_exhaustive || searches_[i]->asks_units()) return;
    for (const RunOutcome* outcome : outcomes) {
      if (outcome->status != RunStatus::ran ||
          attainment_of(outcome->report) < settings_.fleet.target)
        continue;
      const double latency_ms = figure_values(outcome->report)[settings_.latency_metric];
      seen_ms_[i] = std::max(seen_ms_[i], between_seeds * latency_ms);
    }
  }

  void take(std::size_t i, const std::vector<const RunOutcome*>& outcomes) {
    FleetSearch& search = *searches_[i];
    look_first(i, outcomes);
    CandidateResult& result = result_.candidates[i];
    result.probes += outcomes.size();
    search.take(outcomes);
    result.estimate = search.estimate();
    if (!search.is_over()) return;
    if (!search.impossible().empty())
      return close(i, CandidateFate::impossible, search.impossible());
    if (!search.units()) {
      result.objectives = best_case(i);
      const int most = candidates_[i].units_max;
      return close(
          i, CandidateFate::fails,
          most == 1 ? std::string("one, as many as are allowed, misses the SLO")
                    : fmt::format("{} of them, as many as are allowed, still miss the SLO", most));
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
    result.objectives = objectives(i, result.units, result.metrics[settings_.latency_metric]);
  }

  void conclude() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (open_[i]) result_.candidates[i].reason = "stopped before it was decided";
    }
    result_.rank(candidates_, settings_.wants_front);
    result_.beaten_by = beaten_;
  }

  const std::vector<PlanCandidate>& candidates_;
  const PlanSearchSettings& settings_;
  PlanRuns& runs_;
  PlanResult result_;
  std::vector<bool> open_;
  std::vector<std::optional<FleetSearch>> searches_;
  std::vector<double> seen_ms_;  // of fleets that held; 0 = none has yet
  std::vector<std::pair<std::size_t, std::size_t>> beaten_;
};

}  // namespace

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

PlanResult search_plan(const std::vector<PlanCandidate>& candidates,
                       const PlanSearchSettings& settings, PlanRuns& runs) {
  return Search(candidates, settings, runs).find();
}

}  // namespace foretoken
