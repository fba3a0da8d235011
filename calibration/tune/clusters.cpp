#include "calibration/tune/clusters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace foretoken::tune {
namespace {

double squared_distance(const RuntimeFeatures& a, const RuntimeFeatures& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

IncrementalClusters::Point IncrementalClusters::scaled(const Point& point) const {
  Point result;
  for (std::size_t i = 0; i < point.size(); ++i) {
    result[i] = (point[i] - mean_[i]) / deviation_[i];
  }
  return result;
}

double IncrementalClusters::distance(const std::vector<Point>& points, int kernel) const {
  const auto k = static_cast<std::size_t>(kernel);
  return squared_distance(scaled(points[k]), centroids_[static_cast<std::size_t>(assignment_[k])]);
}

int IncrementalClusters::nearest(const Point& scaled_point) const {
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < centroids_.size(); ++c) {
    const double far = squared_distance(scaled_point, centroids_[c]);
    if (far < least) {
      least = far;
      best = static_cast<int>(c);
    }
  }
  return best;
}

void IncrementalClusters::find_scale(const std::vector<Point>& points) {
  constexpr double least_deviation = 1e-8;  // a constant column counts as it is
  const auto n = static_cast<double>(points.size());
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    double sum = 0, squares = 0;
    for (const Point& point : points) sum += point[i];
    mean_[i] = sum / n;
    for (const Point& point : points) squares += (point[i] - mean_[i]) * (point[i] - mean_[i]);
    deviation_[i] = std::sqrt(squares / n);
    if (deviation_[i] < least_deviation) deviation_[i] = 1;
  }
}

void IncrementalClusters::seed(const std::vector<Point>& scaled_points, RandomStream& random) {
  // A subsample without repetition, in the order drawn.
  std::vector<std::size_t> order(scaled_points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto wanted = static_cast<std::size_t>(std::max<double>(
      {static_cast<double>(config_.subsample_min), static_cast<double>(config_.clusters),
       std::ceil(config_.subsample * static_cast<double>(order.size()))}));
  const std::size_t taken = std::min(order.size(), wanted);
  for (std::size_t i = 0; i < taken; ++i) {
    const auto left = static_cast<double>(order.size() - i);
    std::swap(order[i], order[i + static_cast<std::size_t>(uniform(random) * left)]);
  }
  order.resize(taken);
  centroids_.assign(1, scaled_points[order.front()]);
  while (centroids_.size() < static_cast<std::size_t>(config_.clusters)) {
    std::vector<double> weight;
    double total = 0;
    for (const std::size_t i : order) {
      const Point& point = scaled_points[i];
      double least = std::numeric_limits<double>::infinity();
      for (const Point& centroid : centroids_) {
        least = std::min(least, squared_distance(point, centroid));
      }
      total += least;
      weight.push_back(total);
    }
    if (total <= 0) break;  // no further distinct point
    const double drawn = uniform(random) * total;
    const auto found = std::ranges::upper_bound(weight, drawn);
    const auto chosen = static_cast<std::size_t>(
        std::min(found - weight.begin(), static_cast<std::ptrdiff_t>(weight.size()) - 1));
    centroids_.push_back(scaled_points[order[chosen]]);
  }
}

double IncrementalClusters::settle(const std::vector<Point>& scaled_points) {
  for (int step = 0; step < config_.steps_max; ++step) {
    std::vector<Point> sums(centroids_.size(), Point{});
    std::vector<int> members(centroids_.size(), 0);
    for (std::size_t i = 0; i < scaled_points.size(); ++i) {
      assignment_[i] = nearest(scaled_points[i]);
      const auto c = static_cast<std::size_t>(assignment_[i]);
      ++members[c];
      for (std::size_t d = 0; d < sums[c].size(); ++d) sums[c][d] += scaled_points[i][d];
    }
    double moved = 0;
    for (std::size_t c = 0; c < centroids_.size(); ++c) {
      if (members[c] == 0) continue;  // stays where it was and may win kernels back
      Point centre = sums[c];
      for (double& value : centre) value /= members[c];
      moved = std::max(moved, squared_distance(centre, centroids_[c]));
      centroids_[c] = centre;
    }
    if (moved <= config_.tolerance * config_.tolerance) break;
  }
  double spread = 0;
  for (std::size_t i = 0; i < scaled_points.size(); ++i) {
    assignment_[i] = nearest(scaled_points[i]);
    spread +=
        squared_distance(scaled_points[i], centroids_[static_cast<std::size_t>(assignment_[i])]);
  }
  return spread;
}

bool IncrementalClusters::update(const std::vector<Point>& points, int round,
                                 RandomStream& random) {
  const bool due =
      centroids_.empty() || points.size() >= 2 * refreshed_size_ ||
      (round - refreshed_round_ >= config_.refresh_rounds && points.size() > refreshed_size_);
  if (!due) {
    for (std::size_t i = assignment_.size(); i < points.size(); ++i) {
      assignment_.push_back(nearest(scaled(points[i])));
    }
    return false;
  }
  // Old centroids in raw units, so that they can be told in the new scale.
  std::vector<Point> raw = centroids_;
  for (Point& centroid : raw) {
    for (std::size_t d = 0; d < centroid.size(); ++d) {
      centroid[d] = centroid[d] * deviation_[d] + mean_[d];
    }
  }
  find_scale(points);
  std::vector<Point> scaled_points;
  scaled_points.reserve(points.size());
  for (const Point& point : points) scaled_points.push_back(scaled(point));
  assignment_.assign(points.size(), 0);
  std::vector<Point> tightest;
  double least_spread = std::numeric_limits<double>::infinity();
  for (int start = 0; start <= config_.restarts; ++start) {
    if (start < config_.restarts) {
      seed(scaled_points, random);
    } else if (raw.size() == static_cast<std::size_t>(config_.clusters)) {
      centroids_.clear();
      for (const Point& centroid : raw) centroids_.push_back(scaled(centroid));
    } else {
      break;
    }
    const double spread = settle(scaled_points);
    if (spread < least_spread) {
      least_spread = spread;
      tightest = centroids_;
    }
  }
  centroids_ = std::move(tightest);
  // Each new centroid takes the number of the nearest old one that is still free.
  std::vector<Point> numbered(centroids_.size());
  std::vector<bool> taken(centroids_.size(), false), placed(centroids_.size(), false);
  for (std::size_t old = 0; old < std::min(raw.size(), centroids_.size()); ++old) {
    const Point place = scaled(raw[old]);
    std::size_t best = centroids_.size();
    for (std::size_t c = 0; c < centroids_.size(); ++c) {
      if (!taken[c] &&
          (best == centroids_.size() ||
           squared_distance(place, centroids_[c]) < squared_distance(place, centroids_[best]))) {
        best = c;
      }
    }
    numbered[old] = centroids_[best];
    taken[best] = placed[old] = true;
  }
  for (std::size_t c = 0; c < centroids_.size(); ++c) {
    if (taken[c]) continue;
    const auto free = static_cast<std::size_t>(std::ranges::find(placed, false) - placed.begin());
    numbered[free] = centroids_[c];
    placed[free] = true;
  }
  centroids_ = std::move(numbered);
  for (std::size_t i = 0; i < scaled_points.size(); ++i) assignment_[i] = nearest(scaled_points[i]);
  refreshed_round_ = round;
  refreshed_size_ = points.size();
  return true;
}

}  // namespace foretoken::tune
