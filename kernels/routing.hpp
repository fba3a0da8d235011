// How a step's tokens spread over the experts of a mixture-of-experts layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {

/// Where a histogram comes from: all experts alike, a power law p_i ~ i^-exponent, a target
/// balancedness (entropy over ln E, by a power law solved for it), or given counts.
struct Routing {
  enum class Kind { balanced, power_law, balancedness, histogram };
  Kind kind = Kind::balanced;
  double parameter = 0.0;            // exponent, or balancedness in (0, 1]
  std::vector<std::int64_t> counts;  // histogram: assignments by expert

  friend bool operator==(const Routing&, const Routing&) = default;
};

/// "balanced", "power_law:1.2" or "balancedness:0.8". Throws ConfigError at `position` otherwise.
Routing parse_routing(std::string_view text, const SourcePosition& position);
/// The text that parse_routing reads back; a histogram, which has no such text, is described.
std::string routing_text(const Routing& routing);

/// Expected assignments of each expert by its number, adding up exactly to `assignments`. A given
/// histogram keeps its order (scaled if its sum differs); in the other kinds expert 0 is the most
/// popular, since nothing is known about which expert it is.
std::vector<std::int64_t> expert_counts(const Routing& routing, std::int64_t assignments,
                                        int experts);

/// Expected assignments per expert for `assignments` = tokens x topk, as integers that add up
/// exactly (largest remainder), in descending order. Deterministic.
std::vector<std::int64_t> expert_histogram(const Routing& routing, std::int64_t assignments,
                                           int experts);

/// Entropy of the histogram over ln E: 1 = all alike, 0 = one expert takes all.
double balancedness(const std::vector<std::int64_t>& histogram);

}  // namespace foretoken
