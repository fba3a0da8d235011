#include "sim/planner/run_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/report/figure_interval.hpp"
#include "sim/report/report_figure.hpp"

namespace foretoken {
namespace {

// Where a run stops being limited by what its GPUs compute.
constexpr double full_cache = 0.99;  // share of KV blocks
constexpr double idle_gpus = 0.5;    // share of GPU time with a step running

std::int64_t count(const Value& value, std::string_view key) {
  return static_cast<std::int64_t>(report_number(value, key));
}

/// Of all pools, or of the one deployment.
int replicas_of(const Value& scenario) {
  const Value* pools = scenario.find("pool");
  if (pools == nullptr)
    return static_cast<int>(count(report_member(scenario, "deployment"), "replicas"));
  std::int64_t replicas = 0;
  for (const auto& [name, pool] : std::get<ValueObject>(pools->data))
    replicas += count(pool, "replicas");
  return static_cast<int>(replicas);
}

std::string bound_of(const Value& report) {
  const Value& kv = report_member(report, "kv");
  if (count(kv, "preemptions") > 0 || report_number(kv, "peak") > full_cache)
    return "KV cache full";
  const double busy = report_number(report, "gpu_busy");
  if (busy < idle_gpus) return fmt::format("traffic (GPUs {:.0f} % busy)", 100 * busy);
  std::string_view largest;
  double largest_time = 0, sum = 0;
  for (const auto& [family, seconds] :
       std::get<ValueObject>(report_member(report, "time_by").data)) {
    const double time = report_number(report_member(report, "time_by"), family);
    sum += time;
    if (time <= largest_time) continue;
    largest_time = time;
    largest = family;
  }
  return sum > 0 ? fmt::format("{} {:.0f} %", largest, 100 * largest_time / sum) : "nothing ran";
}

/// Figures with intervals: their names here, and in the report.
struct BoundedFigure {
  std::string_view name, table, figure;
  bool is_per_gpu = false;
};
constexpr auto bounded_figures = std::to_array<BoundedFigure>(
    {{"ttft_p50_ms", "ttft_ms", "p50"},
     {"ttft_p99_ms", "ttft_ms", "p99"},
     {"tpot_p50_ms", "tpot_ms", "p50"},
     {"tpot_p99_ms", "tpot_ms", "p99"},
     {"e2e_p50_ms", "e2e_ms", "p50"},
     {"requests_per_s", "throughput", "requests_per_s"},
     {"output_tokens_per_s", "throughput", "output_tokens_per_s"},
     {"output_tokens_per_s_gpu", "throughput", "output_tokens_per_s", true},
     {"attainment", "slo", "attainment"},
     {"goodput_per_s", "slo", "goodput_per_s"},
     {"goodput_per_s_gpu", "slo", "goodput_per_s", true},
     {"dollars_per_million_output_tokens", "cost", "per_million_output_tokens"}});

}  // namespace

std::optional<FigureInterval> interval_of(const RunFigures& figures, std::string_view name) {
  const auto found = std::ranges::find(figures.intervals, name,
                                       &std::pair<std::string_view, FigureInterval>::first);
  if (found == figures.intervals.end()) return std::nullopt;
  return found->second;
}

RunFigures figures_of(const Value& report) {
  RunFigures figures;
  const Value& throughput = report_member(report, "throughput");
  const Value& requests = report_member(report, "requests");
  const Value& slo = report_member(report, "slo");
  figures.gpus = static_cast<int>(count(report, "gpus"));
  figures.replicas = replicas_of(report_member(report, "scenario"));
  figures.ttft_p50_ms = report_number(report_member(report, "ttft_ms"), "p50");
  figures.ttft_p99_ms = report_number(report_member(report, "ttft_ms"), "p99");
  figures.tpot_p50_ms = report_number(report_member(report, "tpot_ms"), "p50");
  figures.tpot_p99_ms = report_number(report_member(report, "tpot_ms"), "p99");
  figures.e2e_p50_ms = report_number(report_member(report, "e2e_ms"), "p50");
  figures.requests_per_s = report_number(throughput, "requests_per_s");
  figures.output_tokens_per_s = report_number(throughput, "output_tokens_per_s");
  figures.output_tokens_per_s_gpu =
      report_number(report_member(throughput, "per_gpu"), "output_tokens_per_s");
  figures.has_slo = !std::get<ValueArray>(report_member(slo, "targets").data).empty();
  figures.slo_met = figures.has_slo && std::get<bool>(report_member(slo, "met").data);
  figures.attainment = report_number(slo, "attainment");
  figures.goodput_per_s = report_number(slo, "goodput_per_s");
  if (const Value* cost = report.find("cost")) {
    const Value* dollars = cost->find("per_million_output_tokens");  // none if there were no tokens
    if (dollars != nullptr) figures.dollars_per_million = report_number(*dollars);
  }
  figures.arrived = count(requests, "arrived");
  figures.completed = count(requests, "completed");
  figures.failed = count(requests, "failed");
  figures.rejected = count(requests, "rejected");
  figures.timed_out = count(requests, "timed_out");
  figures.bound = bound_of(report);
  for (const BoundedFigure& bounded : bounded_figures) {
    if (bounded.table == "cost" && !figures.dollars_per_million) continue;
    const auto interval = interval_of(report, bounded.table, bounded.figure);
    if (!interval) break;
    const double share = bounded.is_per_gpu ? 1.0 / figures.gpus : 1.0;
    figures.intervals.push_back({bounded.name, {interval->low * share, interval->high * share}});
  }
  return figures;
}

}  // namespace foretoken
