#include "sim/report/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace foretoken {
namespace {

/// Bytes of the escape sequence "ESC [ … letter" that `text` begins with, or 0.
std::size_t escape_bytes(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  std::size_t end = 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

/// Bytes of the code point that `text` (not empty) begins with; a stray byte counts as one.
std::size_t code_point_bytes(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end;
}

}  // namespace

int display_width(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const std::size_t escape = escape_bytes(text);
    if (escape == 0) ++columns;
    text.remove_prefix(escape > 0 ? escape : code_point_bytes(text));
  }
  return columns;
}

std::string fitted(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns <= 0) return {};
  std::string result;
  int column = 0;
  while (!text.empty()) {
    const std::size_t escape = escape_bytes(text);
    const std::size_t bytes = escape > 0 ? escape : code_point_bytes(text);
    if (escape > 0 || column < columns - 1) {
      result += text.substr(0, bytes);
    } else if (column == columns - 1) {
      result += "…";
    }
    if (escape == 0) ++column;
    text.remove_prefix(bytes);
  }
  return result;
}

std::string padded(std::string_view text, int columns, Align align) {
  const auto missing = static_cast<std::size_t>(std::max(0, columns - display_width(text)));
  const std::string space(missing, ' ');
  return align == Align::left ? std::string(text) + space : space + std::string(text);
}

std::string repeated(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::string Ink::in(std::string_view code, std::string_view text) const {
  if (!colour_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace foretoken
