#include "sim/base/keys.hpp"

#include <cmath>

#include "sim/base/toml.hpp"

namespace foretoken {

bool Range::holds(double value) const {
  return (has_low ? value >= low : value > low) && value <= high;
}

Range at_least(double low, std::string message) {
  return {.low = low, .message = std::move(message)};
}

Range above(double low, std::string message) {
  return {.low = low, .has_low = false, .message = std::move(message)};
}

Range between(double low, double high, std::string message) {
  return {.low = low, .high = high, .message = std::move(message)};
}

Range share(std::string message) {
  return {.low = 0, .high = 1, .has_low = false, .message = std::move(message)};
}

Range not_negative() { return at_least(0, "must not be negative"); }

Range count() { return at_least(1, "must be at least 1, not {}"); }

namespace detail {

std::string joined(const std::vector<std::string_view>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::string range_text(const Range& range, const std::function<std::string(double)>& end) {
  const bool has_low = std::isfinite(range.low);
  const bool has_high = std::isfinite(range.high);
  if (has_low && has_high && range.has_low)
    return fmt::format("{} to {}", end(range.low), end(range.high));
  std::string text;
  if (has_low && range.has_low) text = fmt::format("{} or more", end(range.low));
  if (has_low && !range.has_low) text = fmt::format("above {}", end(range.low));
  if (has_high) text += fmt::format("{}at most {}", text.empty() ? "" : ", ", end(range.high));
  return text;
}

std::string value_text(const std::optional<Value>& value) {
  if (!value) return "not set";
  Value table;
  table.set("k", *value);
  std::string text = to_toml(table);
  if (!text.starts_with("k = ")) return "a table";
  return text.substr(4, text.find_last_not_of('\n') - 3);
}

std::string range_message(const Range& range, const std::string& value) {
  if (!range.message.empty()) return fmt::format(fmt::runtime(range.message), value);
  if (!std::isfinite(range.high)) {
    return fmt::format("must be {} {}", range.has_low ? "at least" : "above",
                       number_text(range.low));
  }
  return fmt::format("must be from {} to {}", number_text(range.low), number_text(range.high));
}

}  // namespace detail
}  // namespace foretoken
