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
      {"ttft_ms", latency(ttft_ms)},
      {"tpot_ms", latency(5.0)},
      {"e2e_ms", latency(900.0)},
      {"slo", ValueObject{{"targets", ValueArray{}}, {"attainment", 1.0}, {"goodput_per_s", 0.0}}},
      {"kv", ValueObject{{"preemptions", 0}, {"peak", 0.2}}},
      {"gpu_busy", 0.9},
      {"time_by", ValueObject{{"gemm", 6.0}, {"attention", 2.0}}}};
}

}  // namespace foretoken
