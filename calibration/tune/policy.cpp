#include "calibration/tune/policy.hpp"

namespace foretoken::tune {

std::vector<Arm> available_arms(const Round& round) {
  std::vector<Arm> arms;
  for (std::size_t k = 0; k < round.available.size(); ++k) {
    for (std::size_t s = 0; s < strategy_count; ++s) {
      if (round.available[k][s]) arms.push_back({static_cast<int>(k), static_cast<Strategy>(s)});
    }
  }
  return arms;
}

std::optional<Arm> any_of(const std::vector<Arm>& arms, RandomStream& random) {
  if (arms.empty()) return std::nullopt;
  return arms[static_cast<std::size_t>(uniform(random) * static_cast<double>(arms.size()))];
}

int fastest_with_arm(const Round& round) {
  int best = -1;
  for (std::size_t k = 0; k < round.pool.size(); ++k) {
    bool any = false;
    for (const bool can : round.available[k]) any = any || can;
    if (any && (best < 0 || round.pool[k].time < round.pool[static_cast<std::size_t>(best)].time)) {
      best = static_cast<int>(k);
    }
  }
  return best;
}

}  // namespace foretoken::tune
