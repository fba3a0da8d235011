// Which number formats a KV cache can be held in, on a given GPU.
#pragma once

#include <string>

#include "hardware/gpu.hpp"

namespace foretoken {

/// What is wrong with a KV cache in `dtype` on `gpu`, to follow the name of the setting; "" = it
/// can be. fp8 needs a GPU that has the format (compute capability 8.9 on, MI300X on).
std::string kv_format_problem(DType dtype, const GpuSpec& gpu);

}  // namespace foretoken
