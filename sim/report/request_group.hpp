// What became of some of a run's requests: latencies, how many completed, how many met their
// targets.
#pragma once

#include <cstdint>
#include <string>

namespace foretoken {

/// A latency metric over requests (or tokens), in milliseconds.
struct LatencyRow {
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;
};

/// What became of the requests of one priority, tenant or model.
struct RequestGroup {
  std::string name;  // of the tenant or model; "" = it is a priority:
  int priority = 0;  // lower goes first
  std::int64_t arrived = 0, completed = 0, rejected = 0;
  LatencyRow ttft_ms, tpot_ms, e2e_ms;
  double attainment = 1;           // share of arrived requests that met their targets, 0 to 1
  double output_tokens_per_s = 0;  // its part of Report::throughput
};

}  // namespace foretoken
