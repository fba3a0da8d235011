// Finds the positive numbers that lose least, where derivatives do not help: a minimum over
// protocols has kinks.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace foretoken {

using SearchLoss = std::function<double(std::span<const double>)>;

/// Pattern search (Hooke and Jeeves 1961): each number is made larger and smaller by a factor for
/// as long as that helps; when a round over all of them gains little, the factor shrinks, from 1.5
/// to `factor_last`. A number that is 0 stays 0. Deterministic. A valley that lies across the axes
/// stops it: search_from() begins on several sides.
std::vector<double> pattern_search(std::vector<double> start, const SearchLoss& loss,
                                   double factor_last = 1.01);

/// The best end of a coarse search from each of `starts` and a fine one from the best three of
/// their ends. There must be a start; equals go to the first.
std::vector<double> search_from(const std::vector<std::vector<double>>& starts,
                                const SearchLoss& loss);

/// |log error|, smoothed below a tenth: outliers pull no harder than others.
double log_loss(double predicted, double measured);

}  // namespace foretoken
