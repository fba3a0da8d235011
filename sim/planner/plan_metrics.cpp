#include "sim/planner/plan_metrics.hpp"

#include <algorithm>
#include <array>

#include "sim/report/report_figure.hpp"

namespace foretoken {
namespace {

constexpr auto metrics = std::to_array<PlanMetric>({
    {"ttft_mean_ms", MetricKind::time},        {"ttft_p50_ms", MetricKind::time},
    {"ttft_p90_ms", MetricKind::time},         {"ttft_p95_ms", MetricKind::time},
    {"ttft_p99_ms", MetricKind::time},         {"tpot_mean_ms", MetricKind::time},
    {"tpot_p50_ms", MetricKind::time},         {"tpot_p90_ms", MetricKind::time},
    {"tpot_p95_ms", MetricKind::time},         {"tpot_p99_ms", MetricKind::time},
    {"e2e_mean_ms", MetricKind::time},         {"e2e_p50_ms", MetricKind::time},
    {"e2e_p90_ms", MetricKind::time},          {"e2e_p95_ms", MetricKind::time},
    {"e2e_p99_ms", MetricKind::time},          {"requests_per_s", MetricKind::rate},
    {"output_tokens_per_s", MetricKind::rate}, {"output_tokens_per_s_gpu", MetricKind::rate},
    {"goodput_per_s", MetricKind::rate},       {"attainment", MetricKind::share},
});

/// "ttft_p99_ms" is p99 of ttft_ms.
double metric_of(const Value& report, std::string_view name) {
  const Value& throughput = report_member(report, "throughput");
  if (name == "output_tokens_per_s_gpu") {
    return report_number(report_member(throughput, "per_gpu"), "output_tokens_per_s");
  }
  if (name == "goodput_per_s" || name == "attainment") {
    return report_number(report_member(report, "slo"), name);
  }
  if (throughput.find(name) != nullptr) return report_number(throughput, name);
  const auto first = name.find('_'), last = name.rfind('_');
  const std::string table = std::string(name.substr(0, first)) + "_ms";
  return report_number(report_member(report, table), name.substr(first + 1, last - first - 1));
}

}  // namespace

std::span<const PlanMetric> plan_metrics() { return metrics; }

std::optional<std::size_t> find_metric(std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &PlanMetric::name);
  if (found == metrics.end()) return std::nullopt;
  return static_cast<std::size_t>(found - metrics.begin());
}

std::vector<double> metrics_of(const Value& report) {
  std::vector<double> values;
  for (const PlanMetric& metric : metrics) values.push_back(metric_of(report, metric.name));
  return values;
}

double attainment_of(const Value& report) { return metric_of(report, "attainment"); }

}  // namespace foretoken
