// What share of a layer's assignments each expert gets, how even shares are, and how they become
// whole numbers: the arithmetic that routings (routing.hpp) and drawn histograms
// (tiles/expert_histogram.hpp) have in common.
#pragma once

#include <cstdint>
#include <vector>

namespace foretoken {

/// Zipf's law: the share of the expert of rank i (from 1) goes with i^-exponent.
std::vector<double> rank_shares(double exponent, int experts);

/// Entropy over ln(experts): 1 = all alike; terms with no share add nothing, one expert is even.
double relative_entropy(const std::vector<double>& shares);

/// The exponent at which Zipf's shares have this relative entropy; 0 from 1 on.
double popularity_exponent(double balancedness, int experts);

/// Integers near assignments * shares[i] that add up to `assignments`: floors first, then one more
/// for the largest remainders, the lower index first among equals.
std::vector<std::int64_t> largest_remainder(const std::vector<double>& shares,
                                            std::int64_t assignments);

/// Counts over their sum; there must be one above 0.
std::vector<double> shares_of(const std::vector<std::int64_t>& counts);

}  // namespace foretoken
