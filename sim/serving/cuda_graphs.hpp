// The steps for which an engine has captured a CUDA graph: one for each of a list of token counts.
// A step with fewer tokens replays the next larger graph, so the GPU computes the padding too; one
// with more is launched kernel by kernel.
#pragma once

#include <cstdint>

#include "sim/serving/settings/host_settings.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// Tokens of the graph that a step replays; 0 = none: it is launched kernel by kernel. The sizes of
/// graphs ascend.
std::int64_t replayed_tokens(const HostSettings& host, const BatchShape& batch);

}  // namespace foretoken
