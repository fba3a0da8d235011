#include "calibration/fit/pattern_search.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {

std::vector<double> pattern_search(std::vector<double> start, const SearchLoss& loss,
                                   double factor_last) {
  constexpr double factor_first = 1.5;
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

std::vector<double> search_from(const std::vector<std::vector<double>>& starts,
                                const SearchLoss& loss) {
  constexpr std::size_t refined = 3;
  constexpr double coarse = 1.2;
  std::vector<std::pair<double, std::vector<double>>> found;
  const auto search = [&](const std::vector<double>& start, auto... factor_last) {
    std::vector<double> numbers = pattern_search(start, loss, factor_last...);
    const double lost = loss(numbers);
    return std::pair(lost, std::move(numbers));
  };
  found.reserve(starts.size());
  for (const std::vector<double>& start : starts) found.push_back(search(start, coarse));
  const auto by_loss = &decltype(found)::value_type::first;
  std::ranges::stable_sort(found, {}, by_loss);
  found.resize(std::min(found.size(), refined));
  for (auto& end : found) end = search(end.second);
  return std::ranges::min_element(found, {}, by_loss)->second;
}

double log_loss(double predicted, double measured) {
  constexpr double smooth = 0.1;
  const double error = std::log(predicted / measured) / smooth;
  return smooth * (std::sqrt(1 + error * error) - 1);
}

}  // namespace foretoken
