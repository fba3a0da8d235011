#include "calibration/tune/pool.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken::tune {
namespace {

/// The launch that most threads run.
const KernelResources& heaviest(const Evaluation& evaluation) {
  FORETOKEN_CHECK(!evaluation.kernels.empty(), "a kernel that ran has launches");
  return *std::ranges::max_element(evaluation.kernels, {}, [](const KernelResources& kernel) {
    return kernel.blocks * kernel.threads;
  });
}

double occupancy_of(const KernelResources& kernel, const GpuSpec& gpu) {
  return std::min(1.0, static_cast<double>(kernel.blocks_per_sm) * kernel.threads / gpu.threads_sm);
}

}  // namespace

Profile profile_of(const Problem& problem, const Candidate& candidate, const Evaluation& evaluation,
                   const GpuSpec& gpu) {
  return evaluation.counters ? *evaluation.counters
                             : cost_profile_of(problem, candidate, evaluation, gpu);
}

Profile cost_profile_of(const Problem& problem, const Candidate& candidate,
                        const Evaluation& evaluation, const GpuSpec& gpu) {
  double flops = 0, bytes = 0, cache_bytes = 0, seconds = 0;
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    const Names names = names_of(problem, candidate.constants, i, gpu.sm_count);
    flops += evaluate(problem.cost.flops, names);
    bytes += evaluate(problem.cost.bytes, names);
    cache_bytes += evaluate(problem.cost.cache_bytes, names);
    seconds += evaluation.seconds[i];
  }
  const double peak =
      problem.cost.tensor ? gpu.tensor_rate(DType::fp16).value() : gpu.fma_rate().value();
  const double math = 100 * flops / seconds / peak;
  const KernelResources& kernel = heaviest(evaluation);
  const double slots = std::max(1.0, static_cast<double>(gpu.sm_count) * kernel.blocks_per_sm);
  const double waves = kernel.blocks / slots;
  return {math,
          100 * bytes / seconds / gpu.dram_bandwidth.value(),
          100 * cache_bytes / seconds / gpu.l2_bandwidth.value(),
          100 * waves / std::max(1.0, std::ceil(waves)),
          100 * occupancy_of(kernel, gpu),
          problem.cost.tensor ? math : 0,
          100 * std::max(0.0, 1 - bytes / std::max(cache_bytes, 1.0)),
          static_cast<double>(kernel.local_bytes),
          static_cast<double>(kernel.registers)};
}

RuntimeFeatures runtime_features_of(const Evaluation& evaluation, double time, const GpuSpec& gpu) {
  const KernelResources& kernel = heaviest(evaluation);
  return {std::log(time),
          std::log1p(kernel.registers),
          std::log1p(kernel.shared_bytes / 1024.0),
          std::log(std::max(1, kernel.threads)),
          std::log(std::max(1.0, kernel.blocks)),
          occupancy_of(kernel, gpu)};
}

}  // namespace foretoken::tune
