// Orders shapes for measuring.
#include "shape_choice.hpp"

#include <algorithm>
#include <limits>
#include <random>

namespace foretoken::measure {
namespace {

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

std::vector<double> mean_coordinates(const std::vector<Case>& cases) {
  std::vector<double> mean(cases[0].coordinates.size(), 0.0);
  for (const Case& one : cases)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += one.coordinates[i] / static_cast<double>(cases.size());
  return mean;
}

}  // namespace

std::vector<Case> shuffled(std::vector<Case> cases, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = cases.size(); i > 1; --i) std::swap(cases[i - 1], cases[random() % i]);
  return cases;
}

std::vector<std::vector<const Case*>> cool_first(const std::vector<const Case*>& cases,
                                                 std::size_t size) {
  std::vector<std::vector<const Case*>> batches;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i % size == 0) batches.emplace_back();
    batches.back().push_back(cases[i]);
  }
  for (auto& batch : batches)
    std::stable_sort(batch.begin(), batch.end(),
                     [](const Case* a, const Case* b) { return a->heat < b->heat; });
  return batches;
}

std::vector<Case> spread_choice(std::vector<Case> cases, int count) {
  if (cases.empty()) return cases;
  std::vector<double> nearest(cases.size(), std::numeric_limits<double>::infinity());
  const std::vector<double> mean = mean_coordinates(cases);
  std::size_t next = 0;
  for (std::size_t i = 1; i < cases.size(); ++i)
    if (squared_distance(cases[i].coordinates, mean) <
        squared_distance(cases[next].coordinates, mean))
      next = i;
  std::vector<Case> chosen;
  while (static_cast<int>(chosen.size()) < count && chosen.size() < cases.size()) {
    chosen.push_back(cases[next]);
    for (std::size_t i = 0; i < cases.size(); ++i)
      nearest[i] =
          std::min(nearest[i], squared_distance(cases[i].coordinates, chosen.back().coordinates));
    next = static_cast<std::size_t>(std::max_element(nearest.begin(), nearest.end()) -
                                    nearest.begin());
  }
  return chosen;
}

}  // namespace foretoken::measure
