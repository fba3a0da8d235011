// Kernels that behave alike, found as the pool grows (Section 4.3 of the paper): k-means++ on
// z-scored runtime features, new kernels to the nearest centroid, centroids anew every few rounds
// or when the pool has doubled. A new centroid takes the number of the old one nearest to it;
// statistics must still be recomputed from the pulls, since kernels move (kept for their numbers'
// sake, they would attach to the wrong cluster).
#pragma once

#include <array>
#include <vector>

#include "calibration/tune/pool.hpp"
#include "sim/base/random.hpp"

namespace foretoken::tune {

struct ClusterConfig {
  int clusters = 3;
  int refresh_rounds = 10;  // tau
  double subsample = 0.1;   // of the pool, for the seeds of k-means++
  int subsample_min = 3;
  int restarts = 4;         // the tightest of so many seedings, and of the old centroids, is kept
  int steps_max = 50;       // of Lloyd's algorithm
  double tolerance = 1e-6;  // movement of centroids below which it ends
};

class IncrementalClusters {
 public:
  using Point = RuntimeFeatures;

  explicit IncrementalClusters(const ClusterConfig& config) : config_(config) {}

  /// Takes in what the pool holds beyond what was seen. Returns whether centroids were found anew,
  /// after which any kernel may have moved.
  bool update(const std::vector<Point>& points, int round, RandomStream& random);

  /// By kernel, from 0.
  [[nodiscard]] const std::vector<int>& assignment() const { return assignment_; }
  /// How many clusters there are: at most as many as kernels.
  [[nodiscard]] int count() const { return static_cast<int>(centroids_.size()); }
  /// Squared distance of a kernel to its centroid, in z-scores.
  [[nodiscard]] double distance(const std::vector<Point>& points, int kernel) const;

 private:
  [[nodiscard]] Point scaled(const Point& point) const;
  [[nodiscard]] int nearest(const Point& scaled_point) const;
  void find_scale(const std::vector<Point>& points);
  void seed(const std::vector<Point>& scaled_points, RandomStream& random);
  /// Lloyd's algorithm; returns the sum of squared distances to centroids.
  double settle(const std::vector<Point>& scaled_points);

  ClusterConfig config_;
  Point mean_{}, deviation_{};
  std::vector<Point> centroids_;
  std::vector<int> assignment_;
  int refreshed_round_ = 0;
  std::size_t refreshed_size_ = 0;
};

}  // namespace foretoken::tune
