// How many of which GPUs, laid out how, for this traffic under this SLO, at what cost? From a
// scenario with a [plan] table to the cheapest deployment that holds, the front of those worth
// considering, how sure that is, and why the others are not among them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/planner/plan/plan_confidence.hpp"
#include "sim/planner/plan/plan_search.hpp"
#include "sim/planner/plan/plan_space.hpp"

namespace foretoken {

/// The cheapest of each front are looked at closely, and so are some others that cost little more.
inline constexpr std::size_t close_looks_max = 4, runners_up_max = 3;

/// How far a plan is, for whoever waits for it.
struct PlanStatus {
  std::size_t runs = 0;               // made
  std::size_t choices = 0, open = 0;  // in all; not decided yet
  enum class Phase { search, whole, closely } phase = Phase::search;
  std::string answer = {};      // the cheapest so far: "h100-sxm, TP 4, 3 replicas"
  double dollars_per_hour = 0;  // that it costs
};

struct Plan {
  PlanSettings settings;
  std::vector<std::string>
      overrides;            // keys that were set for all runs, for whoever runs one again
  bool is_sampled = false;  // the traffic is long: fleets were judged by samples of it
  PlanSpace space;
  PlanResult result;
  std::vector<DeploymentConfidence> confidences;  // the front's, then the runners-up's
  /// Candidates of which nobody can say whether they cost less than the cheapest.
  std::vector<std::size_t> as_good_as_cheapest;
  std::size_t runs = 0;        // made until the front was known
  std::size_t close_runs = 0;  // and then, for intervals and highest loads
  std::size_t sweep_runs = 0;  // that all combinations with all numbers of replicas would take
  /// That counting up every choice from one unit to its answer would take at least.
  std::size_t counted_runs = 0;

  [[nodiscard]] const DeploymentConfidence* confidence(std::size_t candidate) const;
  [[nodiscard]] CostRange cost_range(std::size_t candidate) const;
  /// Times the scenario's: what a choice has to hold.
  [[nodiscard]] double judged_load() const { return 1 + settings.margin; }
  /// Those that hold, by cost, then latency: the cheapest first.
  [[nodiscard]] std::vector<std::size_t> holding() const;
  /// The keys that make the scenario what was judged of a candidate that holds, with its first
  /// seed.
  [[nodiscard]] Changes judged_run(std::size_t candidate) const;
};

struct PlanOptions {
  bool is_exhaustive = false;  // every combination: to check the search
  bool looks_closely = true;   // intervals and headroom
  std::function<void(const PlanStatus&)> progress = {};
  RunStore* store = nullptr;  // where outcomes are looked for and kept
};

/// Throws ConfigError as plan_space() does.
Plan make_plan(const PlanSettings& settings, const LoadScenario& load, ScenarioRunner& runner,
               const PlanOptions& options);

/// What a person reads, at most `width` columns. `scenario` is the file's name, for the command
/// that shows the answer.
struct PlanTableLayout {
  bool colour = false;
  int width = 100;
  std::size_t rows_max = 20;  // of choices that hold; how many are left out is said
};
std::string plan_table(const Plan& plan, const std::string& scenario,
                       const PlanTableLayout& layout);
/// plan.csv: a line a candidate.
std::string plan_csv(const Plan& plan);
/// plan.json's object.
Value plan_value(const Plan& plan);

}  // namespace foretoken
