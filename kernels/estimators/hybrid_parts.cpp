#include "kernels/estimators/hybrid_parts.hpp"

#include <algorithm>

#include "kernels/estimators/attention_model.hpp"

namespace foretoken {

double HybridTime::total() const { return fixed + std::max(memory, math) + walk; }

Bound HybridTime::bound() const {
  if (std::max(memory, math) + walk <= fixed) return Bound::launch;
  if (walk >= std::max(memory, math)) return Bound::shared;
  return math > memory ? Bound::tensor : Bound::dram;
}

double clock_stretch(const GpuSpec& gpu, double told_hz) { return told_hz / gpu.clock.value(); }

double memory_us(HybridTime& out, double bytes, const GpuSpec& gpu, double share, bool is_cold) {
  constexpr double l2_fill = 0.6, l2_share = 0.6;
  out.working_set = bytes / gpu.l2_size.value();
  const double hot = is_cold ? 0 : hit_share(out.working_set, l2_fill);
  const double from_dram = bytes / (gpu.dram_bandwidth.value() * share);
  const double from_l2 = std::min(from_dram, bytes / (gpu.l2_bandwidth.value() * l2_share));
  return (hot * from_l2 + (1 - hot) * from_dram) * 1e6;
}

double tensor_us(double flops, DType dtype, const GpuSpec& gpu, double share) {
  double rate = gpu.tensor_rate(dtype).value();
  if (!(rate > 0)) rate = gpu.tensor_rate(activation_dtype(dtype)).value();
  if (!(rate > 0)) rate = gpu.fma_rate().value();
  return flops / (rate * share) * 1e6;
}

}  // namespace foretoken
