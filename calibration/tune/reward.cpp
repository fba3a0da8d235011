#include "calibration/tune/reward.hpp"

#include <algorithm>

namespace foretoken::tune {

double weighted_speedup(std::span<const double> reference, std::span<const double> candidate,
                        std::span<const double> launches) {
  FORETOKEN_CHECK(!reference.empty() && reference.size() == candidate.size() &&
                      (launches.empty() || launches.size() == reference.size()),
                  "{}, {} and {} shapes", reference.size(), candidate.size(), launches.size());
  double total = 0, speedup = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double weight = reference[i] * (launches.empty() ? 1 : launches[i]);
    total += weight;
    speedup += weight * (reference[i] / candidate[i]);
  }
  return speedup / total;
}

double reward_of(double parent_time, const Evaluation& child, double child_time, RewardRule rule) {
  if (child.status != Status::ok) return 0;
  const double reward = (parent_time - child_time) / parent_time;
  return rule == RewardRule::clipped ? std::clamp(reward, 0.0, 1.0) : reward;
}

}  // namespace foretoken::tune
