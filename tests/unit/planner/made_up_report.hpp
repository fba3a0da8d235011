// A report as a run would give it, for tests that need no run.
#pragma once

#include "sim/report/figures.hpp"

namespace foretoken {

/// A report of a run whose throughput is `rate` tokens/s on `gpus` GPUs.
inline Report made_up_report(int gpus, double rate, double ttft_ms) {
  const auto latency = [](double p50) { return LatencyRow{.p50 = p50, .p99 = 2 * p50}; };
  Report report;
  report.gpus = gpus;
  report.requests = {.arrived = 10, .completed = 10};
  report.throughput = {.requests_per_s = rate / 100, .output_tokens_per_s = rate};
  report.whole_run = {.output_tokens_per_s = rate};
  report.steady.is_reached = true;
  report.ttft_ms = latency(ttft_ms);
  report.tpot_ms = latency(5.0);
  report.e2e_ms = latency(900.0);
  report.kv.peak = 0.2;
  report.gpu_busy = 0.9;
  report.time_by = {{"gemm", 6.0}, {"attention", 2.0}};
  return report;
}

/// Intervals from `low` to `high` times each TTFT; of all else none.
inline void add_made_up_intervals(double low, double high, Report& report) {
  report.intervals.emplace();
  for (const Figure& figure : figures()) {
    const double value = figure.value(report);
    const bool is_open = figure.name.starts_with("ttft_");
    report.intervals->figures.push_back(is_open ? FigureInterval{value * low, value * high}
                                                : FigureInterval{value, value});
  }
}

}  // namespace foretoken
