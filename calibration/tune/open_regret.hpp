// What a search forgoes of what it could still have: Equation 5 compares each round with the best
// (kernel, strategy) there ever is, which a search that tries every implementation once uses up.
// Here a round is compared with the best that its own pool and the implementations not yet seen
// offer.
#pragma once

#include <vector>

#include "calibration/tune/search.hpp"

namespace foretoken::tune {

/// By round: the largest expected reward of any (kernel of the pool then, strategy), each move into
/// an implementation that nobody had seen as likely. Of searches by the template alone; the pool of
/// `trajectory` must be there. 0 where nothing was left.
std::vector<double> open_means(Judge& judge, const Trajectory& trajectory, RewardRule rule);

}  // namespace foretoken::tune
