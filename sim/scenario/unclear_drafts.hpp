// Measured points that may or may not have drafted tokens: tables have no column for it, and where
// points of one configuration differ by far more than servers do, some did. They cannot be told
// apart without looking at the result, so that nobody is judged by them.
#pragma once

#include <vector>

#include "sim/scenario/closed_loop_scenario.hpp"

namespace foretoken {

/// Ascending indices of those points: of models that were published with a module that drafts, and
/// of a configuration whose TPOTs differ by more than 1.5 times.
std::vector<std::size_t> points_with_unclear_drafts(const std::vector<ClosedLoopPoint>& points,
                                                    const ServerSettings& servers);

}  // namespace foretoken
