#include "sim/base/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace foretoken {
namespace {

constexpr std::string_view mark = "\xEF\xBF\xBD";  // U+FFFD

// As sim/report's Ink writes them.
constexpr auto colour_escapes = std::to_array<std::string_view>(
    {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"});

/// Bytes of the character that `text` begins with, and which it is; 0 bytes: no UTF-8.
struct Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {bytes, code};
}

bool is_shown(std::uint32_t code) {
  if (code < 0x20) return code == '\n' || code == '\t';
  if (code >= 0x7F && code < 0xA0) return false;
  const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
                     code == 0x200E || code == 0x200F;
  return !turns;
}

}  // namespace

std::string printable(std::string_view text, Colours colours) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto escape =
        std::ranges::find_if(colour_escapes, [&](auto known) { return text.starts_with(known); });
    const Character character = first_of(text);
    std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (colours == Colours::kept && text.front() == '\x1b' && escape != colour_escapes.end()) {
      bytes = escape->size();
      result += *escape;
    } else if (character.bytes > 0 && is_shown(character.code)) {
      result += text.substr(0, bytes);
    } else {
      result += mark;
    }
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace foretoken
