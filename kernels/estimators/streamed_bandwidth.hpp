// The DRAM bandwidth that first-order times divide by. Their constants were fitted to GPUs that
// stream nine tenths of their nominal bandwidth; others stream less (L40S, which checks its
// memory) or more (RTX 4090). Internal to the estimator families.
#pragma once

#include "hardware/gpu.hpp"

namespace foretoken {

/// Bytes a second; the nominal bandwidth where GpuSpec::dram_stream_share is 0.9.
inline double streamed_bandwidth(const GpuSpec& gpu) {
  constexpr double fitted_share = 0.9;
  return gpu.dram_bandwidth.value() * gpu.dram_stream_share / fitted_share;
}

}  // namespace foretoken
