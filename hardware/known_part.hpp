// Which built-in parts a GPU of the user's is most like: the one that its TOML file was copied
// from, where somebody changed some numbers of a copy. Its prices start from theirs
// (kernels/estimators/transfer.hpp), so that what was changed is all that moves them.
#pragma once

#include <span>
#include <vector>

#include "hardware/gpu.hpp"

namespace foretoken {

/// Whether every number and name of the two is the same.
bool same_part(const GpuSpec& a, const GpuSpec& b);

/// Whether parts of these compute capabilities run the same kernels with the same tiles. From
/// Hopper on one major number is one generation (10.0 and 10.3); 8.0, 8.6 and 8.9 differ in tensor
/// rates, shared memory and formats.
bool same_generation(int a, int b);

/// Of `parts` those of its vendor and generation that share most numbers with `gpu`; several where
/// they share as many. How far numbers differ does not count, so that a number that is changed
/// again leaves them as they are.
std::vector<GpuSpec> nearest_kin(const GpuSpec& gpu, std::span<const GpuSpec> parts);

/// Of the built-in parts, by name. Empty: a built-in part, or of no known generation.
std::vector<GpuSpec> known_kin(const GpuSpec& gpu);

}  // namespace foretoken
