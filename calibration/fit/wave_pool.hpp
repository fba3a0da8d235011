// What the pool that RaMP's performance regions advise costs against trying every configuration.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/judge_wave.hpp"

namespace foretoken {

/// Of one way to predict times, each point held out once; regrets as in WaveScore.
struct PoolRegrets {
  std::string method;
  double tried = 0;  // configurations, mean of the points
  double regret = 0, regret_max = 0;
};

/// Every method with the whole pool and then with the advised one.
std::vector<PoolRegrets> judge_pools(const MoeGrid& grid, const WaveFitOptions& options);

/// The same as text, and what the best configuration loses where it is not advised.
std::string pool_table(const MoeGrid& grid, const WaveFitOptions& options);

}  // namespace foretoken
