// The figures of a run that a plan reports, each with an interval, in one order everywhere.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/value.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// How a figure changes if every step takes longer by a factor, at the same load in units of it.
enum class MetricKind { time, rate, share };

struct PlanMetric {
  std::string_view name;  // "ttft_p99_ms"
  MetricKind kind;
};

/// ttft, tpot and e2e (mean, p50, p90, p95, p99; in ms), requests_per_s, output_tokens_per_s,
/// output_tokens_per_s_gpu, goodput_per_s, attainment.
std::span<const PlanMetric> plan_metrics();
/// By name; nullopt: no such metric.
std::optional<std::size_t> find_metric(std::string_view name);

/// Of report.json's object, in the order of plan_metrics().
std::vector<double> metrics_of(const Value& report);
/// Share of the requests that met the SLO.
double attainment_of(const Value& report);
/// Requests that count.
double arrived_in(const Value& report);

/// Of runs that are samples of one traffic: an outcome that cannot be, if there is one; else the
/// first one's report with the metrics of all. Shares count every request alike; rates and most
/// latencies are means, 95th and 99th percentiles those of the worst sample.
RunOutcome merged_outcome(const std::vector<const RunOutcome*>& samples);

}  // namespace foretoken
