// What products cost at the power limit: clocks fall until the board keeps to it, so that large
// launches on A100, L40S, Hopper and B200 stay below the tensor peak by about what their limits
// explain, if wider tensor cores spend less on a flop and half the bits take half the energy.
// Not measured with a power meter. Internal to the estimator families.
#pragma once

#include "hardware/gpu.hpp"

namespace foretoken {

struct TensorEnergy {
  double picojoules_per_flop = 1;  // 16 bit, of a tensor core with 1024 operations a clock
  double exponent = 0;             // wider tensor cores spend less: energy ~ width^exponent
  double idle_power_share = 0;     // of the board's power limit
};

/// Fitted to 16-bit products (gemm.cpp).
inline constexpr TensorEnergy energy_16bit = {1.32, -0.57, 0.19};

/// us of `flops` multiplied in `multiplied`, at the power limit; 0 where the board has none.
double power_limited_us(double flops, DType multiplied, const TensorEnergy& energy,
                        const GpuSpec& gpu);

}  // namespace foretoken
