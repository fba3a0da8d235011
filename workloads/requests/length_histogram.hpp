// Lengths as a histogram: what is left of traffic that nobody may keep request by request, and what
// a recorded trace is fitted to. Distribution "histogram" draws from it.
#pragma once

#include <cstdint>
#include <vector>

namespace foretoken {

struct LengthHistogram {
  /// Ascending, one more than there are weights: bucket i holds lengths above edges[i], up to
  /// edges[i + 1].
  std::vector<int> edges;
  std::vector<double> weights;  // not all 0
  /// Where in their bucket lengths are: they are spread as u^skew is for an even u, so that 1 is
  /// even and more is nearer to the lower edge.
  double skew = 1.0;

  /// The length at `bucket_draw` of all weight and `within_draw` of its bucket, each from 0 to
  /// below 1.
  [[nodiscard]] int at(double bucket_draw, double within_draw) const;
  [[nodiscard]] double mean() const;
  /// The length that a share `p` of requests do not pass.
  [[nodiscard]] double quantile(double p) const;
  [[nodiscard]] int longest() const;
};

struct WeightedLength {
  int tokens = 1;
  double weight = 1;
};

/// Of lengths in any order, at least one of which has weight: each by itself where they are few,
/// else some forty buckets of about equal weight that are finer at the long end; the mean is kept.
LengthHistogram length_histogram(std::vector<WeightedLength> lengths);

/// The same buckets with the skew that gives `mean`, or comes nearest to it.
LengthHistogram with_mean(LengthHistogram histogram, double mean);

}  // namespace foretoken
