// The samples that load tools make their metrics of: everything over requests that completed after
// the warm-up, and the time from the first request to the last answer.
#pragma once

#include <vector>

#include "sim/report/load_tools.hpp"

namespace foretoken {

/// Mean, standard deviation (of a population) and percentiles (linear between neighbours), as NumPy
/// has them; all 0 without samples.
struct SampleStatistics {
  double mean = 0, deviation = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};
SampleStatistics statistics_of(std::vector<double> samples);

struct ToolSamples {
  std::vector<const RequestRow*> counted, completed;
  std::vector<double> ttft_ms, e2e_ms;
  std::vector<double> tpot_ms;           // after the first token; answers of one token have none
  std::vector<double> itl_ms;            // from piece to piece
  std::vector<double> e2e_per_token_ms;  // the first token included
  double duration_s = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;

  [[nodiscard]] double per_second(double amount) const {
    return duration_s > 0 ? amount / duration_s : 0;
  }
};

ToolSamples tool_samples(const Report& report, const TokenGaps& gaps);

/// The gaps of a request; none if they were not kept.
const std::vector<float>& gaps_of(const TokenGaps& gaps, const RequestRow& row);

}  // namespace foretoken
