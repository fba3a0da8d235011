// From "how skewed is the routing" to integer counts per expert. A power law's experts are the
// quantiles of its density; a target balancedness is met by shares p_i ~ i^-s, s found by solving
// for the entropy, which falls monotonically with it. Counts are expectations rounded by largest
// remainder, not draws: the same step costs the same each time.
#include "kernels/routing.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "kernels/expert_draws.hpp"
#include "kernels/expert_shares.hpp"

namespace foretoken {
namespace {

constexpr std::string_view power_law_prefix = "power_law:";
constexpr std::string_view popularity_prefix = "popularity:";
constexpr std::string_view balancedness_prefix = "balancedness:";

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
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

std::vector<std::int64_t> equal_counts(std::int64_t assignments, int experts) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(experts), assignments / experts);
  const auto extra = static_cast<std::ptrdiff_t>(assignments % experts);
  std::for_each(counts.begin(), counts.begin() + extra, [](std::int64_t& count) { ++count; });
  return counts;
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
  if (text.starts_with(popularity_prefix)) {
    const auto range = parse_number(text.substr(popularity_prefix.size()));
    if (!range || *range < 1) {
      throw ConfigError(position,
                        fmt::format("routing '{}': the most popular expert's popularity over the "
                                    "least popular one's must be at least 1, for example "
                                    "\"popularity:30\"",
                                    text));
    }
    return {Routing::Kind::popularity, *range, {}};
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
  throw ConfigError(position,
                    fmt::format("unknown routing '{}'; write \"balanced\", "
                                "\"popularity:30\", \"power_law:1.2\" or \"balancedness:0.8\"",
                                text),
                    Mistake::slip);
}

std::string routing_text(const Routing& routing) {
  switch (routing.kind) {
    case Routing::Kind::balanced:
      return "balanced";
    case Routing::Kind::power_law:
      return fmt::format("{}{}", power_law_prefix, routing.parameter);
    case Routing::Kind::popularity:
      return fmt::format("{}{}", popularity_prefix, routing.parameter);
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
    case Routing::Kind::popularity:
      return drawn_counts(routing.parameter, tokens, topk, experts);
    case Routing::Kind::balancedness:
      return largest_remainder(
          rank_shares(popularity_exponent(routing.parameter, experts), experts), assignments);
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
