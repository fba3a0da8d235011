// Which few launches say most about all others: what `foretoken-measure --few` measures, what
// `foretoken-calibrate choose` asks for and what `evaluate --split few` adapts to. It sees where
// launches stand, never how long they took. The standard library alone: the measuring program is
// built without the rest of Foretoken.
#pragma once

#include <cstddef>
#include <vector>

namespace foretoken {

/// Candidates beyond this are thinned evenly first: the choice takes their square in memory.
inline constexpr std::size_t choice_candidates_max = 1'500;

/// `count` indices of `points` (all of one width; fewer if there are fewer points), best first, so
/// that any beginning of the list is a good choice too. Each is the launch whose time, once known,
/// takes most of the uncertainty off all candidates together, if times vary smoothly over the
/// points (Gaussian process, A-optimal). Dense regions count for more than odd corners.
std::vector<std::size_t> choose_launches(const std::vector<std::vector<float>>& points,
                                         std::size_t count);

}  // namespace foretoken
