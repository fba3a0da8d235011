#include "sim/planner/run_figures.hpp"

#include <cmath>

namespace foretoken {
namespace {

// Where a run stops being limited by what its GPUs compute.
constexpr double full_cache = 0.99;  // share of KV blocks
constexpr double idle_gpus = 0.5;    // share of GPU time with a step running

const Value& member(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  FORETOKEN_CHECK(found != nullptr, "a report lacks '{}'", key);
  return *found;
}

double number(const Value& value, std::string_view key) {
  const Value& found = member(value, key);
  if (const auto* integer = std::get_if<std::int64_t>(&found.data)) {
    return static_cast<double>(*integer);
  }
  const auto* real = std::get_if<double>(&found.data);
  FORETOKEN_CHECK(real != nullptr, "a report's '{}' is {}", key, type_name(found));
  return *real;
}

std::int64_t count(const Value& value, std::string_view key) {
  return static_cast<std::int64_t>(number(value, key));
}

/// Of all pools, or of the one deployment.
int replicas_of(const Value& scenario) {
  const Value* pools = scenario.find("pool");
  if (pools == nullptr) return static_cast<int>(count(member(scenario, "deployment"), "replicas"));
  std::int64_t replicas = 0;
  for (const auto& [name, pool] : std::get<ValueObject>(pools->data))
    replicas += count(pool, "replicas");
  return static_cast<int>(replicas);
}

std::string bound_of(const Value& report) {
  const Value& kv = member(report, "kv");
  if (count(kv, "preemptions") > 0 || number(kv, "peak") > full_cache) return "KV cache full";
  const double busy = number(report, "gpu_busy");
  if (busy < idle_gpus) return fmt::format("traffic (GPUs {:.0f} % busy)", 100 * busy);
  std::string_view largest;
  double largest_time = 0, sum = 0;
  for (const auto& [family, seconds] : std::get<ValueObject>(member(report, "time_by").data)) {
    const double time = number(member(report, "time_by"), family);
    sum += time;
    if (time <= largest_time) continue;
    largest_time = time;
    largest = family;
  }
  return sum > 0 ? fmt::format("{} {:.0f} %", largest, 100 * largest_time / sum) : "nothing ran";
}

}  // namespace

RunFigures figures_of(const Value& report) {
  RunFigures figures;
  const Value& throughput = member(report, "throughput");
  const Value& requests = member(report, "requests");
  const Value& slo = member(report, "slo");
  figures.gpus = static_cast<int>(count(report, "gpus"));
  figures.replicas = replicas_of(member(report, "scenario"));
  figures.ttft_p50_ms = number(member(report, "ttft_ms"), "p50");
  figures.ttft_p99_ms = number(member(report, "ttft_ms"), "p99");
  figures.tpot_p50_ms = number(member(report, "tpot_ms"), "p50");
  figures.tpot_p99_ms = number(member(report, "tpot_ms"), "p99");
  figures.e2e_p50_ms = number(member(report, "e2e_ms"), "p50");
  figures.requests_per_s = number(throughput, "requests_per_s");
  figures.output_tokens_per_s = number(throughput, "output_tokens_per_s");
  figures.output_tokens_per_s_gpu = number(member(throughput, "per_gpu"), "output_tokens_per_s");
  figures.has_slo = !std::get<ValueArray>(member(slo, "targets").data).empty();
  figures.attainment = number(slo, "attainment");
  figures.goodput_per_s = number(slo, "goodput_per_s");
  if (const Value* cost = report.find("cost")) {
    figures.dollars_per_million = number(*cost, "per_million_output_tokens");
  }
  figures.arrived = count(requests, "arrived");
  figures.completed = count(requests, "completed");
  figures.failed = count(requests, "failed");
  figures.rejected = count(requests, "rejected");
  figures.timed_out = count(requests, "timed_out");
  figures.bound = bound_of(report);
  return figures;
}

}  // namespace foretoken
