// How a step's tokens spread over the experts of a mixture-of-experts layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {

/// Where an expert's share of the assignments comes from:
/// balanced      all experts alike
/// power_law     popularities drawn from a density x^-exponent (popularity_law)
/// popularity    popularities spread evenly over orders of magnitude, the most popular expert
///               `parameter` times as popular as the least, and each token draws its own; what a
///               step of few tokens leaves idle, and its luck, follow (expert_draws.hpp)
/// balancedness  a target for entropy over ln E, met by shares p_i ~ i^-s with s solved for it
/// histogram     given counts
struct Routing {
  enum class Kind { balanced, power_law, popularity, balancedness, histogram };
  Kind kind = Kind::balanced;
  double parameter = 0.0;            // exponent from 0 up, range from 1 up, balancedness in (0, 1]
  std::vector<std::int64_t> counts;  // histogram: assignments by expert

  friend bool operator==(const Routing&, const Routing&) = default;
};

/// "balanced", "power_law:1.2", "popularity:30" or "balancedness:0.8". Throws ConfigError at
/// `position` otherwise.
Routing parse_routing(std::string_view text, const SourcePosition& position);
/// The text that parse_routing reads back; a histogram, which has no such text, is described.
std::string routing_text(const Routing& routing);

/// Popularities of experts: density x^-exponent over [low, high].
struct PopularityLaw {
  double exponent, low, high;

  /// Mean of x^order.
  [[nodiscard]] double moment(int order) const;
  /// The popularity that a share `u` of the experts stays below.
  [[nodiscard]] double quantile(double u) const;
};

/// A power law as AIConfigurator's collector draws it (collector/helper.py, 095f58a5), from which
/// the measured tables come: over [1, 0.8 tokens] where there are more assignments than experts,
/// over [0.01, 2] otherwise; scaled to the assignments, at most one a token. Near exponent 1 that
/// is log-uniform, far flatter than Zipf's p_i ~ i^-exponent.
PopularityLaw popularity_law(double exponent, std::int64_t tokens, int topk, int experts);

/// Expected assignments of each expert by its number, adding up exactly to tokens x topk. A given
/// histogram keeps its order (scaled if its sum differs); in the other kinds expert 0 is the most
/// popular, since nothing is known about which expert it is. A power law's experts are its
/// quantiles (i + 1/2) / E, drawn popularities those of a step's assignments (drawn_counts).
/// Deterministic: largest remainder instead of draws.
std::vector<std::int64_t> expert_counts(const Routing& routing, std::int64_t tokens, int topk,
                                        int experts);

/// The same in descending order.
std::vector<std::int64_t> expert_histogram(const Routing& routing, std::int64_t tokens, int topk,
                                           int experts);

/// Entropy of the histogram over ln E: 1 = all alike, 0 = one expert takes all.
double balancedness(const std::vector<std::int64_t>& histogram);

}  // namespace foretoken
