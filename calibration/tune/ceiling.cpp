#include "calibration/tune/ceiling.hpp"

#include <algorithm>
#include <numeric>

#include "calibration/tune/reward.hpp"
#include "calibration/tune/serving.hpp"

namespace foretoken::tune {

CeilingAnswer ceiling_of(const Problem& problem, const GpuSpec& gpu, const Ceilings& ceilings) {
  if (!problem.serving) return {std::nullopt, "not a serving kernel"};
  CeilingTimes times;
  try {
    for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
      const auto ceiling = ceilings.find(serving_kernel(problem, i), gpu);
      if (!ceiling) {
        return {std::nullopt, fmt::format("no trained family has a ceiling for {} on {}",
                                          problem.serving->kernel, gpu.name)};
      }
      times.family = ceiling->family;
      times.seconds.push_back(ceiling->time.value());
      times.roof_seconds.push_back(ceiling->roof.time.value());
      times.is_transferred = times.is_transferred || ceiling->origin == Origin::transferred;
    }
  } catch (const PredictionError& error) {
    return {std::nullopt, error.what()};
  }
  return {std::move(times), {}};
}

Standing standing_of(const CeilingTimes& ceiling, std::span<const double> seconds) {
  FORETOKEN_CHECK(seconds.size() == ceiling.seconds.size(), "{} times for {} shapes",
                  seconds.size(), ceiling.seconds.size());
  std::vector<double> gaps;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    gaps.push_back(ceiling.roof_seconds[i] / ceiling.seconds[i] -
                   ceiling.roof_seconds[i] / seconds[i]);
  }
  // The nearest rank, as `foretoken diagnose` takes medians.
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>((gaps.size() - 1) / 2);
  std::ranges::nth_element(gaps, middle);
  const auto sum = [](std::span<const double> times) {
    return std::accumulate(times.begin(), times.end(), 0.0);
  };
  return {*middle, weighted_speedup(seconds, ceiling.seconds), sum(ceiling.seconds) / sum(seconds)};
}

double roof_share(const Problem& problem, const Candidate& candidate,
                  std::span<const double> seconds, const GpuSpec& gpu) {
  const double peak =
      problem.cost.tensor ? gpu.tensor_rate(DType::fp16).value() : gpu.fma_rate().value();
  double roof = 0;
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    const Names names = names_of(problem, candidate.constants, i, gpu.sm_count);
    roof += std::max(evaluate(problem.cost.flops, names) / peak,
                     evaluate(problem.cost.bytes, names) / gpu.dram_bandwidth.value());
  }
  return roof / std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

}  // namespace foretoken::tune
