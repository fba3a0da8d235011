// Which built-in part an imaginary one was made from: a copy of its TOML file in which somebody
// changed a number or two. Prices of the imaginary part start from those of the known one
// (kernels/tasks/hardware_ratio.hpp), so that what was changed is all that moves them.
#pragma once

#include <optional>

#include "hardware/gpu.hpp"

namespace foretoken {

/// Whether every number and name of the two is the same.
bool same_part(const GpuSpec& a, const GpuSpec& b);

/// The built-in part of the same vendor, compute capability and formats that shares most numbers
/// with `gpu`, of those that differ from it in at most four numbers that kernels feel; the first by
/// name among equals. nullopt: `gpu` is a built-in part itself, or no copy of one.
std::optional<GpuSpec> known_relative(const GpuSpec& gpu);

}  // namespace foretoken
