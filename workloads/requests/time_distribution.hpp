// How long people wait and think: a time ("30 s"), or a table { distribution = "uniform" |
// "exponential" | "lognormal", ... }. Unlike lengths these are no family with a catalog: the four
// cover what is known of people.
#pragma once

#include <optional>
#include <string_view>

#include "sim/base/keys.hpp"
#include "sim/base/random.hpp"

namespace foretoken {

class TimeDistribution {
 public:
  TimeDistribution() = default;  // no time at all
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

  Kind kind_ = Kind::fixed;
  double first_ = 0, second_ = 0;  // s: the time; min and max; mean; median and sigma (no unit)
};

/// Reads `key`; nullopt if it is absent or a mistake, which is reported. Times are from 0 s to
/// 1e10 s.
std::optional<TimeDistribution> read_time_distribution(TableReader& table, std::string_view key);

template <>
struct KeyForm<TimeDistribution> {
  static bool read(TableReader& table, std::string_view key, TimeDistribution& out) {
    const auto times = read_time_distribution(table, key);
    if (times) out = *times;
    return times.has_value();
  }
  static std::optional<Value> write(const TimeDistribution& times) { return times.resolved(); }
  static std::string type() { return "time or table"; }
  static std::string unit() { return std::string(quantity_example<Seconds>()); }
  static std::string allowed() { return "0 or more, or { distribution = \"…\", … }"; }
};

/// What such a table may hold, a distribution each.
std::vector<KeyTable> time_distribution_tables();

}  // namespace foretoken
