#include "calibration/tune/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "calibration/tune/open_regret.hpp"

namespace foretoken::tune {
namespace {

constexpr double fast_speedup = 1.1;  // Fast@1 of the paper, Section 5.1

/// Two-sided 95 % quantile of Student's t by degrees of freedom (tables; beyond 30 nearly normal).
double student(std::size_t degrees) {
  constexpr std::array<double, 31> table{0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                         2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                                         2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
                                         2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  return degrees < table.size() ? table[degrees] : 1.96;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Interval interval_of(const std::vector<double>& sample) {
  FORETOKEN_CHECK(!sample.empty(), "an interval of nothing");
  const double mean = mean_of(sample);
  if (sample.size() < 2) return {mean, mean, mean};
  double squares = 0;
  for (const double value : sample) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(sample.size());
  const double half = student(sample.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

namespace {

std::vector<double> last_of(const std::vector<std::vector<double>>& curves) {
  std::vector<double> last;
  for (const auto& curve : curves) last.push_back(curve.back());
  return last;
}

}  // namespace

std::vector<double> PolicyResult::last_speedups() const { return last_of(speedup); }
std::vector<double> PolicyResult::last_regrets() const { return last_of(regret); }
std::vector<double> PolicyResult::last_open_regrets() const { return last_of(open); }

std::unique_ptr<Policy> make_policy(const PolicyRegistry& registry, const std::string& name,
                                    const Value& options, const PolicyContext& context) {
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, name);
  std::unique_ptr<Policy> policy = registry.find(name, {"--policy", 0, 0}).make(table, context);
  table.finish();
  diagnostics.throw_if_any();
  return policy;
}

Comparison compare(const std::vector<Problem>& problems, Evaluator& evaluator,
                   const PolicyRegistry& registry, const ComparisonOptions& options,
                   const std::function<void(const std::string&)>& progress) {
  Comparison comparison;
  const auto seeds = static_cast<std::size_t>(options.seeds);
  const auto rounds = static_cast<std::size_t>(options.budget);
  for (const std::string& name : options.policies) {
    PolicyResult result;
    result.policy = registry.find(name, {"--policies", 0, 0}).name;
    // Logarithms of speed-ups until the end.
    result.speedup.assign(seeds, std::vector<double>(rounds + 1, 0.0));
    result.regret.assign(seeds, std::vector<double>(rounds + 1, 0.0));
    result.open.assign(seeds, std::vector<double>(rounds + 1, 0.0));
    result.fast.assign(seeds, 0.0);
    result.highest.assign(seeds, 0.0);
    result.share_of_best.assign(seeds, 0.0);
    comparison.policies.push_back(std::move(result));
  }
  std::vector<Judge> judges;
  for (const Problem& problem : problems) judges.emplace_back(problem, evaluator);
  // Each problem's prior is learned from the others, so that it knows nothing of itself.
  std::vector<std::vector<PriorSample>> samples(problems.size());
  if (options.prior > 0 && problems.size() > 1 && options.prior_from == nullptr &&
      evaluator.is_exhaustible()) {
    const int each = (options.prior + static_cast<int>(problems.size()) - 2) /
                     static_cast<int>(problems.size() - 1);
    for (std::size_t p = 0; p < problems.size(); ++p) {
      samples[p] = prior_samples(judges[p], each, options.first_seed);
    }
  }
  const auto options_of = [&](const std::string& name) {
    const Value* own = options.policy_options.find(name);
    return own == nullptr ? Value() : *own;
  };
  const auto count = static_cast<double>(problems.size());
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const Problem& problem = problems[p];
    Judge& judge = judges[p];
    std::vector<PriorSample> prior;
    for (std::size_t other = 0; other < problems.size(); ++other) {
      if (other != p) prior.insert(prior.end(), samples[other].begin(), samples[other].end());
    }
    if (options.prior_from != nullptr) {
      prior = prior_of_others(*options.prior_from, problem.name, options.prior, options.first_seed);
    }
    const std::size_t first = comparison.trajectories.size();
    std::vector<std::vector<double>> opens;  // by trajectory from there on
    for (const PolicyResult& result : comparison.policies) {
      for (std::size_t i = 0; i < seeds; ++i) {
        const std::uint64_t seed = options.first_seed + i;
        const auto policy = make_policy(registry, result.policy, options_of(result.policy),
                                        {seed, options.budget, prior});
        const auto rewriter = make_template_rewriter(
            problem, {options.is_seeded, seed,
                      [&](const State& state) { return evaluator.knows(problem, state); }});
        Trajectory trajectory = search(judge, *rewriter, *policy, options.budget, options.reward);
        trajectory.policy = result.policy;
        trajectory.seed = seed;
        opens.push_back(open_means(judge, trajectory, options.reward));
        trajectory.pool.clear();
        comparison.trajectories.push_back(std::move(trajectory));
      }
    }
    // After the searches: where spaces are not known, they tell what there was to be had.
    const double best_mean = judge.best_mean_reward(options.reward);
    const double best_speedup = judge.best_speedup();
    comparison.problems.push_back(problem.name);
    comparison.best_of_space.push_back(best_speedup);
    std::size_t next = first;
    for (PolicyResult& result : comparison.policies) {
      std::vector<double>& bests = result.by_problem.emplace_back();
      for (std::size_t i = 0; i < seeds; ++i) {
        const std::vector<double>& left = opens[next - first];
        const Trajectory& trajectory = comparison.trajectories[next++];
        Regret regret(best_mean);
        double best = 1, open = 0;
        for (std::size_t round = 1; round <= rounds; ++round) {
          // A search that has nothing left to try earns nothing more.
          const bool over = round > trajectory.steps.size();
          regret.add(over ? 0 : trajectory.steps[round - 1].reward);
          if (!over) best = trajectory.steps[round - 1].best;
          if (!over) open += left[round - 1] - trajectory.steps[round - 1].reward;
          result.speedup[i][round] += std::log(best) / count;
          result.regret[i][round] += regret.value() / count;
          result.open[i][round] += open / count;
        }
        result.fast[i] += (best > fast_speedup ? 1 : 0) / count;
        result.highest[i] = std::max(result.highest[i], best);
        result.share_of_best[i] += std::log(best / best_speedup) / count;
        bests.push_back(best);
      }
    }
    progress(problem.name);
  }
  for (PolicyResult& result : comparison.policies) {
    for (auto& curve : result.speedup) {
      for (double& value : curve) value = std::exp(value);
    }
    for (double& value : result.share_of_best) value = std::exp(value);
  }
  return comparison;
}

}  // namespace foretoken::tune
