#include "calibration/evaluate/score.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

/// The smallest of `sorted` that a share of them does not exceed.
double nearest_rank(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

Score ScoreBoard::score() const {
  Score score;
  score.rows = errors_.size();
  if (errors_.empty()) return score;
  std::vector<double> sizes;
  for (const double error : errors_) {
    sizes.push_back(std::abs(error));
    score.mape += sizes.back();
    score.bias += error;
  }
  score.mape /= static_cast<double>(score.rows);
  score.bias /= static_cast<double>(score.rows);
  std::ranges::sort(sizes);
  score.median = nearest_rank(sizes, 0.5);
  score.p90 = nearest_rank(sizes, 0.9);
  return score;
}

}  // namespace foretoken
