// A report as a run would give it, for tests that need no run.
#pragma once

#include "sim/base/value.hpp"

namespace foretoken {

/// A report of a run whose throughput is `rate` tokens/s on `gpus` GPUs.
inline Value made_up_report(int gpus, double rate, double ttft_ms) {
  const auto latency = [](double p50) { return ValueObject{{"p50", p50}, {"p99", 2 * p50}}; };
  const ValueObject per_gpu = {{"output_tokens_per_s", rate / gpus}};
  return ValueObject{
      {"scenario", ValueObject{{"deployment", ValueObject{{"replicas", 1}}}}},
      {"gpus", gpus},
      {"requests",
       ValueObject{
           {"arrived", 10}, {"completed", 10}, {"failed", 0}, {"rejected", 0}, {"timed_out", 0}}},
      {"throughput",
       ValueObject{
           {"requests_per_s", rate / 100}, {"output_tokens_per_s", rate}, {"per_gpu", per_gpu}}},
      {"whole_run", ValueObject{{"output_tokens_per_s", rate}}},
      {"ttft_ms", latency(ttft_ms)},
      {"tpot_ms", latency(5.0)},
      {"e2e_ms", latency(900.0)},
      {"slo", ValueObject{{"targets", ValueArray{}}, {"attainment", 1.0}, {"goodput_per_s", 0.0}}},
      {"kv", ValueObject{{"preemptions", 0}, {"peak", 0.2}}},
      {"gpu_busy", 0.9},
      {"time_by", ValueObject{{"gemm", 6.0}, {"attention", 2.0}}}};
}

/// Intervals from `low` to `high` times a TTFT p50 of `ttft_ms` and its p99; of all else none.
inline void add_made_up_intervals(double ttft_ms, double low, double high, Value& report) {
  const auto around = [&](double value) { return ValueArray{value * low, value * high}; };
  const auto none = [](double value) { return ValueArray{value, value}; };
  const auto latency = [&](double p50) {
    return ValueObject{{"p50", none(p50)}, {"p99", none(2 * p50)}};
  };
  const double rate = 100;
  report.set(
      "intervals",
      ValueObject{{"ttft_ms", ValueObject{{"p50", around(ttft_ms)}, {"p99", around(2 * ttft_ms)}}},
                  {"tpot_ms", latency(5.0)},
                  {"e2e_ms", latency(900.0)},
                  {"throughput", ValueObject{{"requests_per_s", none(rate / 100)},
                                             {"output_tokens_per_s", none(rate)}}},
                  {"slo", ValueObject{{"attainment", none(1.0)}, {"goodput_per_s", none(0.0)}}}});
}

}  // namespace foretoken
