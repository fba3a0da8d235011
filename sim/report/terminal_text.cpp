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

bool is_anywhere(std::string_view) { return true; }

/// Whether quotes that `before` opened are closed again in it.
bool is_outside_quotes(std::string_view before) {
  char open = 0;
  for (const char c : before) {
    if (open == 0 && (c == '"' || c == '\'')) {
      open = c;
    } else if (c == open) {
      open = 0;
    }
  }
  return open == 0;
}

/// Broken at spaces where `can_break` holds of what stands before; `end` closes all but the last.
std::string folded_line(std::string_view line, int columns, int indent, std::string_view end,
                        bool (*can_break)(std::string_view before)) {
  std::string result;
  const std::string_view whole = line;
  int used = 0;  // columns of the indent that this part begins with
  while (display_width(line) + used > columns) {
    const int room = columns - used - display_width(end);
    std::size_t best = std::string_view::npos;
    for (std::size_t at = line.find(' ', line.find_first_not_of(' ')); at != std::string_view::npos;
         at = line.find(' ', at + 1)) {
      const bool fits = display_width(line.substr(0, at)) <= room;
      if (!fits && best != std::string_view::npos) break;
      const auto before =
          whole.substr(0, static_cast<std::size_t>(line.data() - whole.data()) + at);
      if (can_break(before)) best = at;
      if (!fits && best == at) break;  // a word of its own length
    }
    if (best == std::string_view::npos) break;
    result += line.substr(0, line.find_last_not_of(' ', best) + 1);
    result += end;
    result += '\n' + std::string(static_cast<std::size_t>(indent), ' ');
    line.remove_prefix(std::min(line.find_first_not_of(' ', best), line.size()));
    used = indent;
  }
  return result + std::string(line);
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

std::string folded(std::string_view text, int columns, int indent) {
  std::string result;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += folded_line(text.substr(0, end), columns, indent, "", is_anywhere);
    if (end == text.size()) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string folded_command(std::string_view command, int columns) {
  constexpr int indent = 6;
  return folded_line(command, columns, indent, " \\", is_outside_quotes);
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
