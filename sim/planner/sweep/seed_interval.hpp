// The mean of a figure over seeds and how far off it may be: what tells a difference between two
// settings from the luck of one draw of the traffic.
#pragma once

#include <optional>
#include <span>

namespace foretoken {

/// half_width: of the confidence interval of the mean (Student's t, as seeds are few).
/// nullopt with one sample, which says nothing about the spread.
struct SeedInterval {
  double mean = 0;
  std::optional<double> half_width;

  /// Whether the two intervals share a point. Without intervals: whether the means are equal.
  [[nodiscard]] bool overlaps(const SeedInterval& other) const;
};

/// `samples` must not be empty.
SeedInterval seed_interval(std::span<const double> samples, double confidence = 0.95);

}  // namespace foretoken
