#include "kernels/communication/engine_version.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace foretoken {
namespace {

/// The next run of digits, or of what is none; "" at the end.
std::string_view next_part(std::string_view& text) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end]) == is_digit(text[0])) ++end;
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end);
  return part;
}

/// A release comes after its candidates: nothing is more than "rc", less than ".1".
int rank_of(std::string_view separator) {
  if (separator.empty()) return 1;
  return separator.starts_with('.') ? 2 : 0;
}

std::int64_t number_of(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

bool is_older(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const std::string_view left = next_part(a), right = next_part(b);
    if (left == right) continue;
    const auto is_number = [](std::string_view part) {
      return !part.empty() && std::isdigit(static_cast<unsigned char>(part[0])) != 0;
    };
    if (is_number(left) && is_number(right)) {
      if (number_of(left) != number_of(right)) return number_of(left) < number_of(right);
      continue;
    }
    if (rank_of(left) != rank_of(right)) return rank_of(left) < rank_of(right);
    return left < right;
  }
  return false;
}

std::optional<EngineVersion> parse_engine_version(std::string_view name) {
  const std::size_t dash = std::min(name.find('-'), name.size());
  const auto engine = parse_enum<Framework>(name.substr(0, dash));
  if (!engine || *engine == Framework::pytorch) return std::nullopt;
  if (dash == name.size()) return EngineVersion{*engine, ""};
  const std::string_view version = name.substr(dash + 1);
  if (version.empty() || std::isdigit(static_cast<unsigned char>(version[0])) == 0)
    return std::nullopt;
  return EngineVersion{*engine, version};
}

bool is_nearer(std::string_view asked, std::string_view one, std::string_view other) {
  const auto is_too_new = [&](std::string_view since) {
    return !asked.empty() && is_older(asked, since);
  };
  if (is_too_new(one) != is_too_new(other)) return is_too_new(other);
  return is_too_new(one) ? is_older(one, other) : is_older(other, one);
}

}  // namespace foretoken
