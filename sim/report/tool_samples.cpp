#include "sim/report/tool_samples.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace foretoken {
namespace {

double at_share(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

SampleStatistics statistics_of(std::vector<double> samples) {
  SampleStatistics out;
  if (samples.empty()) return out;
  std::ranges::sort(samples);
  const auto count = static_cast<double>(samples.size());
  out.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - out.mean) * (sample - out.mean);
  out.deviation = std::sqrt(squares / count);
  out.p50 = at_share(samples, 0.5);
  out.p90 = at_share(samples, 0.9);
  out.p95 = at_share(samples, 0.95);
  out.p99 = at_share(samples, 0.99);
  return out;
}

const std::vector<float>& gaps_of(const TokenGaps& gaps, const RequestRow& row) {
  static const std::vector<float> none;
  return row.id < gaps.by_request.size() ? gaps.by_request[row.id] : none;
}

ToolSamples tool_samples(const Report& report, const TokenGaps& gaps) {
  ToolSamples out;
  double begin = 0, end = 0;
  for (const RequestRow& row : report.rows) {
    if (row.arrival_s < report.warmup_s) continue;
    if (out.counted.empty()) begin = row.arrival_s;
    out.counted.push_back(&row);
    end = std::max(end, row.ended_s);
    if (row.status != "completed" || !row.ttft_ms || !row.e2e_ms) continue;
    out.completed.push_back(&row);
    out.input_tokens += row.prompt_tokens;
    out.output_tokens += row.output_tokens;
    out.ttft_ms.push_back(*row.ttft_ms);
    out.e2e_ms.push_back(*row.e2e_ms);
    const auto tokens = static_cast<double>(row.output_tokens);
    if (row.output_tokens > 1) out.tpot_ms.push_back((*row.e2e_ms - *row.ttft_ms) / (tokens - 1));
    if (row.output_tokens > 0) out.e2e_per_token_ms.push_back(*row.e2e_ms / tokens);
    for (const float gap : gaps_of(gaps, row)) out.itl_ms.push_back(1e3 * static_cast<double>(gap));
  }
  out.duration_s = std::max(0.0, end - begin);
  return out;
}

}  // namespace foretoken
