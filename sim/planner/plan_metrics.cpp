#include "sim/planner/plan_metrics.hpp"

#include <algorithm>
#include <array>

#include "sim/base/error.hpp"
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

/// Where a metric stands in the report: the keys that lead there.
std::vector<std::string> path_of(std::string_view name) {
  if (name == "output_tokens_per_s_gpu") return {"throughput", "per_gpu", "output_tokens_per_s"};
  if (name == "goodput_per_s" || name == "attainment") return {"slo", std::string(name)};
  if (name.ends_with("_per_s")) return {"throughput", std::string(name)};
  // "ttft_p99_ms" is p99 of ttft_ms.
  const auto first = name.find('_'), last = name.rfind('_');
  return {std::string(name.substr(0, first)) + "_ms",
          std::string(name.substr(first + 1, last - first - 1))};
}

double metric_of(const Value& report, std::string_view name) {
  const std::vector<std::string> path = path_of(name);
  const Value* table = &report;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) table = &report_member(*table, path[i]);
  return report_number(*table, path.back());
}

void set_metric(Value& report, std::string_view name, double value) {
  Value* at = &report;
  for (const std::string& key : path_of(name)) {
    for (auto& [member, next] : std::get<ValueObject>(at->data)) {
      if (member != key) continue;
      at = &next;
      break;
    }
  }
  *at = value;
}

double merged_metric(const PlanMetric& metric, const std::vector<const RunOutcome*>& samples) {
  double sum = 0, weights = 0, most = 0;
  for (const RunOutcome* sample : samples) {
    // Samples are equally long, so that rates count alike; what requests met or took counts by them.
    const double weight = metric.kind == MetricKind::rate ? 1.0 : arrived_in(sample->report);
    const double value = metric_of(sample->report, metric.name);
    sum += weight * value;
    weights += weight;
    most = std::max(most, value);
  }
  const bool is_tail = metric.name.ends_with("_p95_ms") || metric.name.ends_with("_p99_ms");
  if (is_tail) return most;
  return weights > 0 ? sum / weights : 0;
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

double arrived_in(const Value& report) {
  return report_number(report_member(report, "requests"), "arrived");
}

RunOutcome merged_outcome(const std::vector<const RunOutcome*>& samples) {
  FORETOKEN_CHECK(!samples.empty(), "a merger of nothing");
  for (const RunOutcome* sample : samples) {
    if (sample->status != RunStatus::ran) return *sample;
  }
  RunOutcome merged = *samples.front();
  for (const PlanMetric& metric : metrics)
    set_metric(merged.report, metric.name, merged_metric(metric, samples));
  return merged;
}

}  // namespace foretoken
