#include "calibration/tune/prior_quality.hpp"

#include <algorithm>
#include <numeric>

#include "calibration/tune/rewriter.hpp"
#include "calibration/tune/search.hpp"

namespace foretoken::tune {
namespace {

constexpr std::size_t kinds = profile_kind_names.size();

struct Attempt {
  std::array<Profile, kinds> profiles;
  Strategy strategy;
  bool improved;
};

/// The heads' ranking of one kernel, and what became of it.
struct Ranking {
  std::vector<double> scores;
  std::vector<bool> is_success;
  void add(double score, bool success) {
    scores.push_back(score);
    is_success.push_back(success);
  }
  [[nodiscard]] double area() const { return area_under_curve(scores, is_success); }
};

/// Each strategy's share of successes among the samples.
std::array<double, strategy_count> shares_of(const std::vector<PriorSample>& samples) {
  std::array<double, strategy_count> successes{}, counts{};
  for (const PriorSample& sample : samples) {
    const auto s = static_cast<std::size_t>(sample.strategy);
    successes[s] += sample.improved ? 1 : 0;
    ++counts[s];
  }
  for (std::size_t s = 0; s < successes.size(); ++s) successes[s] /= std::max(1.0, counts[s]);
  return successes;
}

}  // namespace

KernelAttempts attempts_at(const Problem& problem, Evaluator& recorded, const CounterLog& counted) {
  Judge judge(problem, recorded);
  std::vector<Attempt> attempts;
  std::array<ProfileScale, kinds> scales;
  for (const State& state : all_states(problem)) {
    const Candidate candidate = candidate_at(problem, state);
    const Profile* counters = counted.find(problem, candidate);
    if (counters == nullptr || !recorded.knows(problem, state)) continue;
    const Judged& parent = judge.judge(candidate);
    if (parent.evaluation.status != Status::ok) continue;
    const std::array<Profile, kinds> profiles = {Profile{}, parent.profile, *counters};
    for (std::size_t kind = 0; kind < kinds; ++kind) scales[kind].add(profiles[kind]);
    for (int s = 0; s < strategy_count; ++s) {
      for (State& moved : moves(problem, state, static_cast<Strategy>(s))) {
        if (!recorded.knows(problem, moved)) continue;
        const Judged& child = judge.judge(candidate_at(problem, std::move(moved)));
        attempts.push_back({profiles, static_cast<Strategy>(s),
                            child.evaluation.status == Status::ok && child.time < parent.time});
      }
    }
  }
  KernelAttempts result{problem.name, {}};
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (const Attempt& attempt : attempts) {
      result.samples[kind].push_back(
          {scales[kind].scaled(attempt.profiles[kind]), attempt.strategy, attempt.improved});
    }
  }
  return result;
}

double area_under_curve(const std::vector<double>& scores, const std::vector<bool>& is_success) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  double successes = 0, failures = 0, pairs = 0;
  for (std::size_t i = 0; i < order.size();) {
    double equal_successes = 0, equal_failures = 0;
    const double score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i) {
      (is_success[order[i]] ? equal_successes : equal_failures) += 1;
    }
    pairs += equal_successes * (failures + 0.5 * equal_failures);
    successes += equal_successes;
    failures += equal_failures;
  }
  return successes > 0 && failures > 0 ? pairs / (successes * failures) : 0.5;
}

std::vector<PriorQuality> prior_quality(const std::vector<KernelAttempts>& kernels, int epochs) {
  std::vector<PriorQuality> result;
  for (const KernelAttempts& own : kernels) {
    PriorQuality quality{own.kernel, static_cast<int>(own.samples[0].size()), 0, {}, {}};
    for (const PriorSample& sample : own.samples[0]) quality.successes += sample.improved ? 1 : 0;
    quality.successes /= std::max(1, quality.attempts);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      std::vector<PriorSample> others;
      for (const KernelAttempts& other : kernels) {
        if (other.kernel == own.kernel) continue;
        others.insert(others.end(), other.samples[kind].begin(), other.samples[kind].end());
      }
      const auto shares = shares_of(others);
      Compatibility heads{HeadConfig{}};
      heads.pretrain(others, epochs);
      Ranking all;
      std::array<Ranking, strategy_count> of_strategy;
      for (const PriorSample& sample : own.samples[kind]) {
        const auto s = static_cast<std::size_t>(sample.strategy);
        const double score = kind == static_cast<std::size_t>(ProfileKind::none)
                                 ? shares[s]
                                 : heads.probability(sample.profile, sample.strategy);
        all.add(score, sample.improved);
        of_strategy[s].add(score, sample.improved);
      }
      quality.all[kind] = all.area();
      for (const Ranking& ranking : of_strategy) {
        quality.within[kind] += ranking.area() * static_cast<double>(ranking.scores.size()) /
                                std::max(1, quality.attempts);
      }
    }
    result.push_back(quality);
  }
  return result;
}

}  // namespace foretoken::tune
