#include "calibration/tune/reward.hpp"

#include <algorithm>
#include <numeric>

namespace foretoken::tune {

double weighted_speedup(std::span<const double> reference, std::span<const double> candidate) {
  FORETOKEN_CHECK(!reference.empty() && reference.size() == candidate.size(), "{} and {} shapes",
                  reference.size(), candidate.size());
  const double total = std::accumulate(reference.begin(), reference.end(), 0.0);
  double speedup = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    speedup += reference[i] / total * (reference[i] / candidate[i]);
  }
  return speedup;
}

double reward_of(double parent_time, const Evaluation& child, double child_time, RewardRule rule) {
  if (child.status != Status::ok) return 0;
  const double reward = (parent_time - child_time) / parent_time;
  return rule == RewardRule::clipped ? std::clamp(reward, 0.0, 1.0) : reward;
}

}  // namespace foretoken::tune
