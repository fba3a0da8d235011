// What is known of the candidates while a plan is searched: what each could be at best, by its
// bounds and by what its runs have shown, who leaves whom no room, and where its nearest finished
// neighbour says to look. Runs nothing and decides nothing.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner/plan/plan_result.hpp"

namespace foretoken {

class PlanStandings {
 public:
  /// `load`: times the scenario's, what has to hold; a fleet that holds it serves
  /// `output_tokens_per_s`. `wants_front` false: a cheaper one leaves no room, whatever else.
  PlanStandings(const std::vector<PlanCandidate>& candidates, double load,
                double output_tokens_per_s, bool wants_front);

  [[nodiscard]] bool is_open(std::size_t i) const { return known_[i].is_open; }
  void close(std::size_t i, CandidateFate fate, std::string reason);
  /// Fleets of `units` do not hold.
  void take_failure(std::size_t i, int units) { known_[i].fails = units; }
  /// A latency of a known deployment under some of the traffic, which need not be what it has on
  /// average.
  struct Beside {
    std::size_t who;
    double latency_ms;
  };
  /// A fleet has shown a latency, and another one its own under the same requests. Others move both
  /// a little, fewer units make it worse.
  void see(std::size_t i, double latency_ms, const std::optional<Beside>& beside);

  /// By its bounds alone.
  [[nodiscard]] int least_units(std::size_t i) const;
  /// By all that is known of it.
  [[nodiscard]] int best_units(std::size_t i) const;
  [[nodiscard]] Objectives best_case(std::size_t i) const;
  [[nodiscard]] Objectives objectives(std::size_t i, int units, double latency_ms) const;

  /// The known deployment that leaves no room to one that can be no better than `best`; nullopt:
  /// none does.
  [[nodiscard]] std::optional<std::size_t> beaten_by(const Objectives& best) const;
  /// The quickest known deployment that leaves candidate `i` no room unless it is quicker.
  [[nodiscard]] std::optional<std::size_t> rival(std::size_t i) const;
  /// The most units with which candidate `i` would not be beaten already.
  [[nodiscard]] int room(std::size_t i) const;

  /// The nearest candidate whose fleet is known, and how far it is.
  struct Neighbour {
    std::optional<std::size_t> who;
    double away = std::numeric_limits<double>::infinity();
  };
  [[nodiscard]] Neighbour neighbour(std::size_t i) const;
  /// What the bounds say, times what a neighbour took more than its own.
  [[nodiscard]] int guess(std::size_t i) const;

  PlanResult result;

 private:
  struct Known {
    bool is_open = true;
    int fails = 0;       // units
    double seen_ms = 0;  // of fleets that held; 0 = none has yet
  };
  [[nodiscard]] bool holds(std::size_t i) const;
  [[nodiscard]] const Objectives& objectives_of(std::size_t i) const {
    return result.candidates[i].objectives;
  }

  const std::vector<PlanCandidate>& candidates_;
  double load_, output_tokens_per_s_;
  bool wants_front_;
  std::vector<Known> known_;
};

}  // namespace foretoken
