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
  /// Its lines without help and type.
  void append(std::string_view name, std::string_view labels, std::string& text) const;

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

 private:
  friend class MetricsPage;
  PrometheusHistogram ttft_, gap_, tpot_, end_to_end_, queue_, prefill_, decode_, inference_;
  PrometheusHistogram prompt_tokens_, output_tokens_;
  std::int64_t prompts_ = 0, generated_ = 0, preemptions_ = 0;
  std::array<std::int64_t, EnumNames<RequestStatus>::names.size()> ended_ = {};  // by status
};

/// What one model of a server has to tell.
struct ServedMetrics {
  std::string model;  // as clients call it
  const EngineMetrics* metrics = nullptr;
  std::vector<ReplicaGauges> replicas;
};

/// The page of a server: every metric once, with a label for each model, gauges with one for each
/// of its replicas too.
std::string metrics_page(const std::vector<ServedMetrics>& models);

}  // namespace foretoken
