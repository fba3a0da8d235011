// In which order shapes are measured: shuffled, so that a run that is cut short is a fair sample,
// or a few that are far apart, so that a handful of launches says most about a new GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "family.hpp"

namespace foretoken::measure {

/// Fisher-Yates with a fixed generator: the same order on every machine.
std::vector<Case> shuffled(std::vector<Case> cases, std::uint64_t seed);

/// Batches of `size` in the given order, each sorted from cool to hot: a GPU that a hot kernel has
/// slowed down takes 0.2 s to come back, and whoever is measured meanwhile looks slow.
std::vector<std::vector<const Case*>> cool_first(const std::vector<const Case*>& cases,
                                                 std::size_t size);

/// `count` cases, each the farthest (in log size) from those chosen before it; the first is the
/// one nearest the mean. Greedy, and within a factor of two of the best spread.
std::vector<Case> spread_choice(std::vector<Case> cases, int count);

}  // namespace foretoken::measure
