#include "kernels/estimators/ceiling.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
PerformanceGap performance_gap(const Ceiling& ceiling, Seconds measured) {
  return {ceiling.roof.time / measured, ceiling.efficiency()};
}

std::optional<Ceiling> Ceilings::find(const Kernel& kernel, const GpuSpec& gpu) const {
  const EstimatorFamily* const family = family_of(kernel, gpu);
  if (family == nullptr) return std::nullopt;
  const Artifact* const artifact = families_.find(*family);
  if (artifact == nullptr) return std::nullopt;
  const auto [parts, answer] = estimate(*family, *artifact, kernel, gpu);
  Ceiling ceiling{family->name(), parts.first.time * std::exp(answer.mean),
                  roof_of(kernel, gpu, cold_state(kernel).value_or(true)), Origin::transferred};
  if (is_cold(kernel)) ceiling.time += parts.cold_extra;
  if (std::ranges::find(artifact->gpus, gpu.name) != artifact->gpus.end()) {
    ceiling.origin = Origin::learned;
  }
  return ceiling;
}

}  // namespace foretoken
