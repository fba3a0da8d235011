// What a server's metrics grew by while they were watched, by the names that vLLM and SGLang give
// them: histograms, counts, when the server began.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/requests/metric_series.hpp"
#include "workloads/requests/statistics_format.hpp"

namespace foretoken {

/// Names without what stands before the colon; vLLM's, then SGLang's. Empty ones name nothing.
using MetricNames = std::array<std::string_view, 3>;

/// A histogram's growth: how much lies in each bucket, up to its bound.
struct GrownBuckets {
  std::map<double, double> counts;  // by upper bound; the last may be infinite
  double sum = 0, count = 0;

  [[nodiscard]] bool empty() const { return count <= 0; }
};

class GrownMetrics {
 public:
  /// Of the points of `series` inside the window of `options`, counted from the first point.
  GrownMetrics(std::vector<MetricSeries> series, const StatisticsOptions& options);

  /// Under the first of `names` that grew.
  [[nodiscard]] GrownBuckets buckets(const MetricNames& names) const;
  /// Whether any buckets under `names`, or anything called `total`, are there, grown or not.
  [[nodiscard]] bool has(const MetricNames& names, std::string_view total) const;
  /// The growth of everything called `name`.
  [[nodiscard]] double growth(std::string_view name) const;
  /// Of everything called so, by date.
  [[nodiscard]] std::map<double, double> increments(const std::string& name) const;
  /// Whether a count of requests or tokens falls from one point to the next.
  [[nodiscard]] bool falls() const;
  /// When the server's processes began, as far as that is said.
  [[nodiscard]] std::set<double> start_times() const;
  [[nodiscard]] std::set<std::string> models() const;

 private:
  [[nodiscard]] double first_time() const;

  std::vector<MetricSeries> series_;
};

}  // namespace foretoken
