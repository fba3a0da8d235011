#include "sim/planner/sweep/seed_interval.hpp"

#include <cmath>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/base/quantiles.hpp"

namespace foretoken {

bool SeedInterval::overlaps(const SeedInterval& other) const {
  return std::abs(mean - other.mean) <= half_width.value_or(0.0) + other.half_width.value_or(0.0);
}

SeedInterval seed_interval(std::span<const double> samples, double confidence) {
  FORETOKEN_CHECK(!samples.empty(), "a mean of nothing");
  const auto count = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  if (samples.size() == 1) return {mean, std::nullopt};
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  const double error = std::sqrt(squares / (count - 1) / count);
  const double both_tails = 1 - confidence;
  return {mean, error * -students_t_quantile(both_tails / 2, count - 1)};
}

}  // namespace foretoken
