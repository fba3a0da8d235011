// What an engine's process takes of a GPU before it allocates anything: driver, CUDA's context,
// libraries and their buffers for communication. Internal to this room.
#pragma once

#include "sim/serving/memory_plan.hpp"

namespace foretoken {

/// A plan with these pieces alone.
MemoryPlan started_process(const ParallelLayout& layout, const GpuSpec& gpu, MemoryRule rule);

}  // namespace foretoken
