// Which GPUs of a pipeline stage communicate with each other: the stage's GPUs stand in
// tensor-parallel groups one after the other.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel.hpp"
#include "sim/base/ids.hpp"

namespace foretoken {

/// GPUs of a tensor-parallel group, and those of one that share contexts.
struct CommGroupSizes {
  std::size_t tensor = 1, context = 1;
};

/// The groups of that kind, which communicate at the same time. A send to the next stage has none
/// (checked), and so have sizes that do not divide the stage.
std::vector<std::vector<GpuId>> members_of(CommGroup group, const CommGroupSizes& sizes,
                                           std::span<const GpuId> stage);

}  // namespace foretoken
