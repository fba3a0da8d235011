#include "calibration/fit/pattern_search.hpp"

#include <cmath>

namespace foretoken {

std::vector<double> pattern_search(std::vector<double> start,
                                   const std::function<double(std::span<const double>)>& loss) {
  constexpr double factor_first = 1.5, factor_last = 1.01;
  constexpr double round_gain_min = 1e-4, step_gain_min = 1e-7;  // of the loss
  constexpr int rounds_max = 80;
  std::vector<double>& numbers = start;
  double best = loss(numbers);
  int round = 0;
  for (double factor = factor_first; factor > factor_last && round < rounds_max; ++round) {
    const double before = best;
    for (double& number : numbers) {
      for (const double step : {factor, 1 / factor}) {
        while (number != 0) {
          const double kept = number;
          number *= step;
          const double tried = loss(numbers);
          if (tried < best * (1 - step_gain_min)) {
            best = tried;
            continue;
          }
          number = kept;
          break;
        }
      }
    }
    if (best > before * (1 - round_gain_min)) factor = std::sqrt(factor);
  }
  return numbers;
}

double log_loss(double predicted, double measured) {
  constexpr double smooth = 0.1;
  const double error = std::log(predicted / measured) / smooth;
  return smooth * (std::sqrt(1 + error * error) - 1);
}

}  // namespace foretoken
