#include "kernels/estimators/tensor_energy.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {

double power_limited_us(double flops, DType multiplied, const TensorEnergy& energy,
                        const GpuSpec& gpu) {
  if (!(gpu.power.value() > 0)) return 0;
  constexpr double narrow = 1024;  // operations a clock and SM: compute capability 8.6, 8.9, 12.0
  const auto rate = [&gpu](DType dtype) {
    return gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)];
  };
  const double own = rate(multiplied);
  const double base = rate(DType::bf16) > 0 ? rate(DType::bf16) : own;
  const double width = std::max(base / narrow, 1.0);
  const double picojoules =
      energy.picojoules_per_flop * std::pow(width, energy.exponent) * base / own;
  return flops * picojoules * 1e-6 / (gpu.power.value() * (1 - energy.idle_power_share));
}

}  // namespace foretoken
