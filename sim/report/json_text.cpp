#include "sim/report/json_text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace foretoken {

void append_json_text(std::string& text, std::string_view value) {
  text += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '<') {
      fmt::format_to(std::back_inserter(text), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  text += '"';
}

}  // namespace foretoken
