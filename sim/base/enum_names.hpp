// Enumerators spelled as in TOML. An enumeration that is read from or written to a file declares
//   template <> struct EnumNames<DType> { static constexpr auto names = std::to_array<...>(...); };
// with one name per enumerator, in order from 0.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace foretoken {

template <class Enum>
struct EnumNames;

template <class Enum>
constexpr std::string_view enum_name(Enum value) {
  return EnumNames<Enum>::names[static_cast<std::size_t>(value)];
}

template <class Enum>
constexpr std::optional<Enum> parse_enum(std::string_view name) {
  const auto& names = EnumNames<Enum>::names;
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace foretoken
