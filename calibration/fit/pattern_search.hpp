// Finds the positive numbers that lose least, where derivatives do not help: a minimum over
// protocols has kinks.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace foretoken {

/// Pattern search (Hooke and Jeeves 1961): each number is made larger and smaller by a factor for
/// as long as that helps; when a round over all of them gains little, the factor shrinks, from 1.5
/// to 1.01. A number that is 0 stays 0. Deterministic.
std::vector<double> pattern_search(std::vector<double> start,
                                   const std::function<double(std::span<const double>)>& loss);

/// |log error|, smoothed below a tenth: outliers pull no harder than others.
double log_loss(double predicted, double measured);

}  // namespace foretoken
