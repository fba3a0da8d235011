#include "calibration/selection/launch_choice.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

/// Noise variance of one launch, where an offset that all share and what varies have variance 1
/// each. Large, so that no launch is thought to pin down its neighbourhood alone.
constexpr double noise = 0.25;

using Point = std::vector<float>;

double squared_distance(const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double away = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += away * away;
  }
  return sum;
}

/// Candidates' covariance, and how it shrinks as launches become known.
class Uncertainty {
 public:
  explicit Uncertainty(const std::vector<const Point*>& points)
      : size_(points.size()), covariance_(size_ * size_) {
    double total = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) {
        at(i, j) = squared_distance(*points[i], *points[j]);
        total += at(i, j);
      }
    }
    const double mean = total > 0 ? total / static_cast<double>(covariance_.size()) : 1;
    for (double& entry : covariance_) entry = 1 + std::exp(-entry / mean);
  }

  /// How much variance of all candidates goes away with the knowledge of one.
  [[nodiscard]] double gain(std::size_t candidate) const {
    double sum = 0;
    for (std::size_t i = 0; i < size_; ++i) sum += at(candidate, i) * at(candidate, i);
    return sum / (at(candidate, candidate) + noise);
  }

  void learn(std::size_t candidate) {
    const auto begin = covariance_.begin() + static_cast<std::ptrdiff_t>(candidate * size_);
    const std::vector<double> known(begin, begin + static_cast<std::ptrdiff_t>(size_));
    const double variance = known[candidate] + noise;
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) at(i, j) -= known[i] * known[j] / variance;
    }
  }

 private:
  double& at(std::size_t i, std::size_t j) { return covariance_[i * size_ + j]; }
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return covariance_[i * size_ + j]; }

  std::size_t size_;
  std::vector<double> covariance_;
};

}  // namespace

std::vector<std::size_t> choose_launches(const std::vector<Point>& points, std::size_t count) {
  const std::size_t kept = std::min(points.size(), choice_candidates_max);
  std::vector<std::size_t> candidates;
  std::vector<const Point*> places;
  for (std::size_t i = 0; i < kept; ++i) {
    candidates.push_back(i * points.size() / kept);
    places.push_back(&points[candidates.back()]);
  }
  Uncertainty uncertainty(places);
  std::vector<bool> is_chosen(kept, false);
  std::vector<std::size_t> chosen;
  while (chosen.size() < std::min(count, kept)) {
    std::size_t best = kept;
    double best_gain = -1;
    for (std::size_t i = 0; i < kept; ++i) {
      const double gain = is_chosen[i] ? -1 : uncertainty.gain(i);
      if (gain <= best_gain) continue;
      best = i;
      best_gain = gain;
    }
    uncertainty.learn(best);
    is_chosen[best] = true;
    chosen.push_back(candidates[best]);
  }
  return chosen;
}

}  // namespace foretoken
