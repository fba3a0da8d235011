// What vLLM's engine (V1) tells Prometheus, under its names and in its buckets, so that dashboards
// and autoscalers written for it read a simulation. Times are simulated seconds.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/metrics/request_metrics.hpp"
#include "sim/run/run.hpp"

namespace foretoken {

/// A Prometheus histogram: how many samples lie at or below each bound.
class PrometheusHistogram {
 public:
  explicit PrometheusHistogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}
  void add(double value);
  void append(std::string_view name, std::string_view help, std::string_view labels,
              std::string& text) const;

 private:
  std::span<const double> bounds_;  // ascending
  std::vector<std::int64_t> counts_;
  double sum_ = 0;
};

class EngineMetrics {
 public:
  EngineMetrics();
  /// Between two steps that gave a request tokens.
  void add_gap(Seconds gap) { gap_.add(gap.value()); }
  void add_tokens(std::int64_t count) { generated_ += count; }
  /// One that came to its end, whatever way.
  void add_request(const RequestRecord& record);

  /// The page of a server whose model is called `model`; gauges with a label for each replica.
  [[nodiscard]] std::string page(std::string_view model,
                                 const std::vector<ReplicaGauges>& replicas) const;

 private:
  PrometheusHistogram ttft_, gap_, tpot_, end_to_end_, queue_, prefill_, decode_, inference_;
  PrometheusHistogram prompt_tokens_, output_tokens_;
  std::int64_t prompts_ = 0, generated_ = 0, preemptions_ = 0;
  std::array<std::int64_t, EnumNames<RequestStatus>::names.size()> ended_ = {};  // by status
};

}  // namespace foretoken
