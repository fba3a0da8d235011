// How long people wait and think: a time ("30 s"), or a table { distribution = "uniform" |
// "exponential" | "lognormal", ... }. Unlike lengths these are no family with a catalog: the four
// cover what is known of people.
#pragma once

#include <optional>
#include <string_view>

#include "sim/base/quantity.hpp"
#include "sim/base/random.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

class TimeDistribution {
 public:
  static TimeDistribution fixed(Seconds time) { return {Kind::fixed, time.value(), 0.0}; }
  static TimeDistribution uniform(Seconds min, Seconds max) {
    return {Kind::uniform, min.value(), max.value()};
  }
  static TimeDistribution exponential(Seconds mean) { return {Kind::exponential, mean.value(), 0}; }
  /// exp(mu + sigma z) with z standard normal and median = exp(mu).
  static TimeDistribution lognormal(Seconds median, double sigma) {
    return {Kind::lognormal, median.value(), sigma};
  }

  [[nodiscard]] Seconds sample(RandomStream& random) const;
  [[nodiscard]] bool is_fixed() const { return kind_ == Kind::fixed; }
  /// Reads back to the same distribution.
  [[nodiscard]] Value resolved() const;

 private:
  enum class Kind { fixed, uniform, exponential, lognormal };
  TimeDistribution(Kind kind, double first, double second)
      : kind_(kind), first_(first), second_(second) {}

  Kind kind_;
  double first_, second_;  // s: the time; min and max; mean; median and sigma (no unit)
};

/// Reads `key`, called `name`.key in messages; nullopt if it is absent or a mistake, which is
/// reported. Times are from 0 s to 1e10 s.
std::optional<TimeDistribution> read_time_distribution(TableReader& table, std::string_view name,
                                                       std::string_view key);

}  // namespace foretoken
