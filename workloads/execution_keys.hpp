// The keys of the [engine] table that say which kernels a step is made of.
#pragma once

#include "sim/base/keys.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// framework, expert_kernels, block_kernels, sampling, fused_all_reduce, shared_experts_beside,
/// compressor_beside, overlap.
const Keys<ExecutionSettings>& execution_keys();

}  // namespace foretoken
