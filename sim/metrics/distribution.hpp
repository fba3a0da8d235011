// Means and percentiles of samples. Exact for values that are kept one by one (TTFT, TPOT, end to
// end), bucketed with a stated relative width for inter-token latencies, of which a run has
// millions.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/quantity.hpp"

namespace foretoken {

/// All zero when there are no samples.
struct Summary {
  std::int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;
};

/// The p-quantile (0 to 1) of ascending `sorted`, linear between neighbours (NumPy's default).
double percentile(const std::vector<double>& sorted, double p);

/// Exact summary; `samples` in any order.
Summary summarize(std::vector<double> samples);

/// Weighted samples in buckets 1/1024 wide relative to their power of two: percentiles are within
/// 0.1 %, mean and max are exact.
class LatencyHistogram {
 public:
  void add(Seconds value, std::int64_t count = 1);
  [[nodiscard]] Summary summary() const;  // in seconds

 private:
  std::vector<std::int64_t> buckets_;
  std::int64_t count_ = 0;
  double sum_ = 0, max_ = 0;
};

}  // namespace foretoken
