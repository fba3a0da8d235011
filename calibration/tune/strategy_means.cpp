#include "calibration/tune/strategy_means.hpp"

namespace foretoken::tune {

std::optional<Arm> best_strategy(const Round& round, int kernel, const StrategyMeans& means,
                                 RandomStream& random) {
  constexpr double untried = 2;  // above any reward
  std::vector<Arm> best;
  double highest = 0;
  for (std::size_t s = 0; s < strategy_count; ++s) {
    if (!round.available[static_cast<std::size_t>(kernel)][s]) continue;
    const Arm arm{kernel, static_cast<Strategy>(s)};
    const double mean = means.mean(arm.strategy, untried);
    if (!best.empty() && mean < highest) continue;
    if (best.empty() || mean > highest) best.clear();
    best.push_back(arm);
    highest = mean;
  }
  return any_of(best, random);
}

}  // namespace foretoken::tune
