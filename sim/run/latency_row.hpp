// What is told of many latencies. Internal to sim/run.
#pragma once

#include <utility>
#include <vector>

#include "sim/metrics/distribution.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

inline LatencyRow latency_row(std::vector<double> milliseconds) {
  const Summary summary = summarize(std::move(milliseconds));
  return {summary.mean, summary.p50, summary.p90, summary.p95, summary.p99, summary.max};
}

}  // namespace foretoken
