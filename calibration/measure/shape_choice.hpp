// In which order shapes are measured: shuffled, so that a run that is cut short is a fair sample,
// or a few that are far apart, so that a handful of launches says most about a new GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "family.hpp"

namespace foretoken::measure {

/// Fisher-Yates with a fixed generator: the same order on every machine.
std::vector<Case> shuffled(std::vector<Case> cases, std::uint64_t seed);

/// Batches of `size` in the given order, each sorted from cool to hot: a GPU that a hot kernel has
/// slowed down takes 0.2 s to come back, and whoever is measured meanwhile looks slow.
std::vector<std::vector<const Case*>> cool_first(const std::vector<const Case*>& cases,
                                                 std::size_t size);

/// The `count` cases that say most about all, by their log sizes (selection/launch_choice.hpp).
std::vector<Case> few(std::vector<Case> cases, int count);

/// Those of `cases` whose fields stand in a row of the CSV file at `path`, which
/// `foretoken-calibrate choose` wrote; its first columns must be `columns`. Throws
/// std::runtime_error.
std::vector<Case> listed(std::vector<Case> cases, const std::vector<std::string>& columns,
                         const std::string& path);

}  // namespace foretoken::measure
