// Mean reward of each strategy over all kernels of a run: what policies that do not cluster learn.
#pragma once

#include <array>

#include "calibration/tune/policy.hpp"

namespace foretoken::tune {

class StrategyMeans {
 public:
  void add(Strategy strategy, double reward) {
    ++count_[static_cast<std::size_t>(strategy)];
    sum_[static_cast<std::size_t>(strategy)] += reward;
  }
  /// `untried` where the strategy was not pulled yet.
  [[nodiscard]] double mean(Strategy strategy, double untried) const {
    const auto s = static_cast<std::size_t>(strategy);
    return count_[s] == 0 ? untried : sum_[s] / count_[s];
  }

 private:
  std::array<int, strategy_count> count_{};
  std::array<double, strategy_count> sum_{};
};

/// The available strategy of `kernel` with the highest mean; strategies not tried yet come first,
/// equal ones in the seeded order of `random`.
std::optional<Arm> best_strategy(const Round& round, int kernel, const StrategyMeans& means,
                                 RandomStream& random);

}  // namespace foretoken::tune
