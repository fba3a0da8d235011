#include "sim/report/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

constexpr double scientific_from = 1e9;
constexpr double scientific_below = 1e-4;

/// Commas between the thousands of the integer part of a plain decimal number.
std::string with_separators(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  std::size_t place = std::min(digits.find('.'), digits.size());
  while (place > first + 3) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

}  // namespace

std::string grouped(std::int64_t value) { return with_separators(fmt::format("{}", value)); }

std::string grouped(double value, int decimals) {
  if (std::abs(value) >= scientific_from) return fmt::format("{:.2e}", value);
  return with_separators(fmt::format("{:.{}f}", value, decimals));
}

std::string brief(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < scientific_below) return fmt::format("{:.2e}", value);
  // The limits are where rounding to three digits carries into the next power of ten.
  if (size < 0.9995) return fmt::format("{:.3g}", value);
  return grouped(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

std::string percent(double share) {
  if (share > 0 && share < 0.0005) return "<0.1 %";
  return fmt::format("{:.1f} %", 100 * share);
}

std::string attained(double share) {
  return fmt::format("{:g}", std::floor(share * 1e4 + 1e-6) / 100);  // 0.29 * 1e4 is 2899.9999…
}

std::string duration(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return brief(seconds * 1e6) + " µs";
  if (seconds < 0.9995) return brief(seconds * 1e3) + " ms";
  if (seconds < 119.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200 - 0.5) {
    const auto whole = static_cast<std::int64_t>(std::round(seconds));
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  if (seconds >= scientific_from) return fmt::format("{:.2e} s", seconds);
  const auto minutes = static_cast<std::int64_t>(std::round(seconds / 60));
  return fmt::format("{} h {:02} min", grouped(minutes / 60), minutes % 60);
}

std::string spelled(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  if (words.starts_with("kv")) words.replace(0, 2, "KV");
  return words;
}

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

}  // namespace foretoken
