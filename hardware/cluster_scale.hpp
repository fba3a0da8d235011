// A cluster whose hardware differs from what is sold by a factor: what more DRAM bandwidth, a
// larger L2 or faster network cards would be worth. The names stay, so that learned predictors
// answer for the same part with other figures; far from 1 they extrapolate.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/cluster.hpp"

namespace foretoken {

/// A quantity of the GPU or of its links, and what it is multiplied by.
using ScaledQuantity = std::pair<std::string, double>;

/// What can be scaled, GPU first: "dram_bandwidth", "nvlink_bandwidth" …
std::vector<std::string_view> scalable_quantities();

/// Multiplies the quantity everywhere in the cluster; whole numbers are rounded. A link's rate
/// changes with the GPU's: nvlink_bandwidth is what nodes wired by it get. An unknown name is a
/// ConfigError at `position` that names the nearest; so is a factor that is not from 0.01 to 100,
/// and a quantity that the cluster does not have.
void scale_cluster(ClusterSpec& cluster, const ScaledQuantity& scaled,
                   const SourcePosition& position);

}  // namespace foretoken
