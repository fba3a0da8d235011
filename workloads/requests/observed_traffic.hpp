// What is known of traffic as it was: how many requests came when, how long they were, which
// latencies they met. Recorded traces and what monitoring keeps of traffic are both summed up so,
// and a [workload] is fitted to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/base/value.hpp"
#include "workloads/requests/length_histogram.hpp"
#include "workloads/requests/trace.hpp"

namespace foretoken {

/// A latency as somebody measured it, ms.
struct MeasuredLatency {
  std::string name;  // "TTFT", "TPOT", "ITL", "E2E"
  std::int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};

struct ObservedTraffic {
  std::string format;
  std::int64_t requests = 0;
  std::int64_t failed_requests = 0;  // and were left out
  std::optional<Seconds> span;
  /// Requests a second, over equal steps of the span; one = constant, none = unknown.
  std::vector<double> rates;
  Seconds step;
  double burstiness = 1.0;  // of arrivals = "gamma"
  int users = 0;            // closed loop; 0 = none
  LengthHistogram prompt_tokens, output_tokens;
  std::vector<MeasuredLatency> latencies;
  std::vector<std::string> notes;  // what whoever uses it should know

  /// Over the whole span; nullopt = unknown.
  [[nodiscard]] std::optional<double> mean_rate() const;
};

/// A trace summed up. Rates change from step to step only where chance does not explain it.
ObservedTraffic observed(const Trace& trace);

/// The keys of a [workload] that is like `traffic`, of `requests` requests where arrivals do not
/// end by themselves. Lengths of prompts and answers are drawn apart. Without any rate: 1 request a
/// second, which `notes` then says.
Value fitted_workload(const ObservedTraffic& traffic, std::int64_t requests,
                      std::vector<std::string>& notes);

/// `rates` in at most `most` equal steps of the same mean; `step` follows.
void coarsen(ObservedTraffic& traffic, std::size_t most);

}  // namespace foretoken
