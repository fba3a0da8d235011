// From "how skewed is the routing" to integer counts per expert. A power law's experts are the
// quantiles of its density; a target balancedness is met by shares p_i ~ i^-s, s found by solving
// for the entropy, which falls monotonically with it. Counts are expectations rounded by largest
// remainder, not draws: the same step costs the same each time.
#include "kernels/routing.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace foretoken {
namespace {

constexpr std::string_view power_law_prefix = "power_law:";
constexpr std::string_view balancedness_prefix = "balancedness:";

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

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

/// Entropy over its maximum; terms with no share add nothing.
double relative_entropy(const std::vector<double>& shares) {
  if (shares.size() < 2) return 1.0;
  double entropy = 0;
  for (const double share : shares) {
    if (share > 0) entropy -= share * std::log(share);
  }
  return entropy / std::log(static_cast<double>(shares.size()));
}

/// Steeper popularity laws are the same to a rank (one expert has everything) and overflow.
constexpr double popularity_exponent_max = 30;

/// Integral of x^(power - 1) from `low` to `high`.
double power_integral(double low, double high, double power) {
  if (std::abs(power) < 1e-9) return std::log(high / low);
  return (std::pow(high, power) - std::pow(low, power)) / power;
}

/// Shares of the experts, the most popular first, none above one assignment a token: what is above
/// goes to the others in proportion.
std::vector<double> popularity_shares(const PopularityLaw& law, int topk, int experts) {
  std::vector<double> shares(static_cast<std::size_t>(experts));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] = law.quantile(1 - (static_cast<double>(i) + 0.5) / experts);
  }
  const double most = 1.0 / topk;
  double left = 1, rest = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) {
    const double scaled = std::min(most, share / rest * left);
    rest -= share;
    left -= scaled;
    share = scaled;
  }
  return shares;
}

/// Beyond this exponent the second expert gets less than 2^-64 of the first's: one expert has all.
constexpr double exponent_max = 64.0;

double exponent_for(double balancedness, int experts) {
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

/// Integers near assignments * shares[i] that add up to `assignments`: floors first, then one more
/// for the largest remainders, the lower index first among equals.
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

std::vector<std::int64_t> equal_counts(std::int64_t assignments, int experts) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(experts), assignments / experts);
  const auto extra = static_cast<std::ptrdiff_t>(assignments % experts);
  std::for_each(counts.begin(), counts.begin() + extra, [](std::int64_t& count) { ++count; });
  return counts;
}

std::vector<double> shares_of(const std::vector<std::int64_t>& counts) {
  std::vector<double> shares(counts.begin(), counts.end());
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  FORETOKEN_CHECK(total > 0, "a histogram of {} experts without any assignment", counts.size());
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace

Routing parse_routing(std::string_view text, const SourcePosition& position) {
  if (text == "balanced") return {};
  if (text.starts_with(power_law_prefix)) {
    const auto exponent = parse_number(text.substr(power_law_prefix.size()));
    if (!exponent || *exponent < 0) {
      throw ConfigError(position, fmt::format("routing '{}': the exponent must be a number from 0 "
                                              "up, for example \"power_law:1.2\"",
                                              text));
    }
    return {Routing::Kind::power_law, *exponent, {}};
  }
  if (text.starts_with(balancedness_prefix)) {
    const auto target = parse_number(text.substr(balancedness_prefix.size()));
    if (!target || *target <= 0 || *target > 1) {
      throw ConfigError(position, fmt::format("routing '{}': balancedness must be above 0 and at "
                                              "most 1, for example \"balancedness:0.8\"",
                                              text));
    }
    return {Routing::Kind::balancedness, *target, {}};
  }
  throw ConfigError(position, fmt::format("unknown routing '{}'; write \"balanced\", "
                                          "\"power_law:1.2\" or \"balancedness:0.8\"",
                                          text));
}

std::string routing_text(const Routing& routing) {
  switch (routing.kind) {
    case Routing::Kind::balanced:
      return "balanced";
    case Routing::Kind::power_law:
      return fmt::format("{}{}", power_law_prefix, routing.parameter);
    case Routing::Kind::balancedness:
      return fmt::format("{}{}", balancedness_prefix, routing.parameter);
    case Routing::Kind::histogram:
      break;
  }
  return fmt::format("histogram of {} experts", routing.counts.size());
}

double PopularityLaw::moment(int order) const {
  return power_integral(low, high, order + 1 - exponent) / power_integral(low, high, 1 - exponent);
}

double PopularityLaw::quantile(double u) const {
  const double power = 1 - exponent;
  if (std::abs(power) < 1e-9) return low * std::pow(high / low, u);
  const double first = std::pow(low, power);
  return std::pow(first + u * (std::pow(high, power) - first), 1 / power);
}

PopularityLaw popularity_law(double exponent, std::int64_t tokens, int topk, int experts) {
  const bool is_crowded = tokens * topk > experts;
  return {std::min(exponent, popularity_exponent_max), is_crowded ? 1.0 : 0.01,
          is_crowded ? std::max(0.8 * static_cast<double>(tokens), 1.001) : 2.0};
}

std::vector<std::int64_t> expert_counts(const Routing& routing, std::int64_t tokens, int topk,
                                        int experts) {
  FORETOKEN_CHECK(experts > 0 && topk > 0 && tokens >= 0, "{} tokens, {} of {} experts", tokens,
                  topk, experts);
  const std::int64_t assignments = tokens * topk;
  switch (routing.kind) {
    case Routing::Kind::balanced:
      return equal_counts(assignments, experts);
    case Routing::Kind::power_law:
      return largest_remainder(
          popularity_shares(popularity_law(routing.parameter, tokens, topk, experts), topk,
                            experts),
          assignments);
    case Routing::Kind::balancedness:
      return largest_remainder(rank_shares(exponent_for(routing.parameter, experts), experts),
                               assignments);
    case Routing::Kind::histogram:
      break;
  }
  FORETOKEN_CHECK(routing.counts.size() == static_cast<std::size_t>(experts),
                  "a histogram of {} for {} experts", routing.counts.size(), experts);
  const auto total = std::accumulate(routing.counts.begin(), routing.counts.end(), std::int64_t{0});
  if (total == assignments) return routing.counts;
  return largest_remainder(shares_of(routing.counts), assignments);
}

std::vector<std::int64_t> expert_histogram(const Routing& routing, std::int64_t tokens, int topk,
                                           int experts) {
  std::vector<std::int64_t> counts = expert_counts(routing, tokens, topk, experts);
  std::ranges::stable_sort(counts, std::ranges::greater());
  return counts;
}

double balancedness(const std::vector<std::int64_t>& histogram) {
  return relative_entropy(shares_of(histogram));
}

}  // namespace foretoken
