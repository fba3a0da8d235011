// Shares by Zipf's law and their entropy; the exponent for an entropy is solved for, since entropy
// falls monotonically with it.
#include "kernels/expert_shares.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <numeric>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Beyond this exponent the second expert gets less than 2^-64 of the first's: one expert has all.
constexpr double exponent_max = 64.0;

}  // namespace

std::vector<double> rank_shares(double exponent, int experts) {
  std::vector<double> shares(static_cast<std::size_t>(experts));
  double total = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] = std::pow(static_cast<double>(i + 1), -exponent);
    total += shares[i];
  }
  for (double& share : shares) share /= total;
  return shares;
}

double relative_entropy(const std::vector<double>& shares) {
  if (shares.size() < 2) return 1.0;
  double entropy = 0;
  for (const double share : shares) {
    if (share > 0) entropy -= share * std::log(share);
  }
  return entropy / std::log(static_cast<double>(shares.size()));
}

double popularity_exponent(double balancedness, int experts) {
  if (experts < 2 || balancedness >= 1.0) return 0.0;
  const auto excess = [&](double exponent) {
    return relative_entropy(rank_shares(exponent, experts)) - balancedness;
  };
  if (excess(exponent_max) >= 0) return exponent_max;
  std::uintmax_t iterations = 100;  // about 10 are needed
  const auto bracket = boost::math::tools::toms748_solve(
      excess, 0.0, exponent_max, 1.0 - balancedness, excess(exponent_max),
      boost::math::tools::eps_tolerance<double>(48), iterations);
  return (bracket.first + bracket.second) / 2;
}

std::vector<std::int64_t> largest_remainder(const std::vector<double>& shares,
                                            std::int64_t assignments) {
  std::vector<std::int64_t> counts(shares.size());
  std::vector<double> remainders(shares.size());
  std::int64_t left = assignments;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double quota = shares[i] * static_cast<double>(assignments);
    // Rounding may lift a quota above what is left; never hand out more than there is.
    counts[i] = std::min(static_cast<std::int64_t>(quota), left);
    remainders[i] = quota - static_cast<double>(counts[i]);
    left -= counts[i];
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return remainders[i]; });
  const auto extra = static_cast<std::size_t>(left);
  for (std::size_t i = 0; i < extra; ++i) ++counts[order[i % order.size()]];
  return counts;
}

std::vector<double> shares_of(const std::vector<std::int64_t>& counts) {
  std::vector<double> shares(counts.begin(), counts.end());
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  FORETOKEN_CHECK(total > 0, "a histogram of {} experts without any assignment", counts.size());
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace foretoken
