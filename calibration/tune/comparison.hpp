// Policies against each other: every policy on every problem with every seed, at equal rounds.
// Tells for each the geometric mean over problems of the best speed-up so far, the share of
// problems that got faster, and the regret, with confidence intervals over seeds; and paired
// differences, since all policies meet the same seeds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/tune/search.hpp"

namespace foretoken::tune {

/// Mean and 95 % confidence interval (Student's t) of a sample.
struct Interval {
  double mean = 0, low = 0, high = 0;
};
Interval interval_of(const std::vector<double>& sample);

struct ComparisonOptions {
  std::vector<std::string> policies;
  int seeds = 20;
  std::uint64_t first_seed = 1;
  int budget = 40;
  int prior = 1000;  // attempts at all other problems together; 0 = none
  /// Who judges those attempts. nullptr: the evaluator itself, unless it cannot judge whole spaces.
  Evaluator* prior_from = nullptr;
  RewardRule reward = RewardRule::clipped;
  bool is_seeded = true;  // the order of the template's moves
  Value policy_options;   // a table a policy: {"kernelband": {"lambda": 0.3}}
};

struct PolicyResult {
  std::string policy;
  /// By seed, then round (0 is the untouched kernel): geometric mean over problems of the best
  /// speed-up so far, and the mean over problems of Equation 5's regret.
  /// `open`: the same regret against the best that was left (open_regret.hpp).
  std::vector<std::vector<double>> speedup, regret, open;
  /// By seed: share of problems sped up by more than 1.1 (Fast@1), highest speed-up, and the
  /// geometric mean of best found / best of the whole space.
  std::vector<double> fast, highest, share_of_best;
  /// By problem, then seed: the best speed-up.
  std::vector<std::vector<double>> by_problem;

  [[nodiscard]] std::vector<double> last_speedups() const;
  [[nodiscard]] std::vector<double> last_regrets() const;
  [[nodiscard]] std::vector<double> last_open_regrets() const;
};

struct Comparison {
  std::vector<std::string> problems;
  std::vector<double> best_of_space;  // by problem; of what was judged, where spaces are not known
  std::vector<PolicyResult> policies;
  std::vector<Trajectory> trajectories;  // policies, problems, seeds; pools left out
};

/// `progress` is told after each problem. Throws ConfigError for unknown policies or options.
Comparison compare(const std::vector<Problem>& problems, Evaluator& evaluator,
                   const PolicyRegistry& registry, const ComparisonOptions& options,
                   const std::function<void(const std::string&)>& progress);

/// A policy by name with its options; every option that it does not know is a ConfigError.
std::unique_ptr<Policy> make_policy(const PolicyRegistry& registry, const std::string& name,
                                    const Value& options, const PolicyContext& context);

}  // namespace foretoken::tune
