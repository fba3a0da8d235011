#include "sim/base/csv_cell.hpp"

#include <charconv>

namespace foretoken {
namespace {

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double ignored = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), ignored);
  return status == std::errc() && end == text.data() + text.size();
}

bool is_formula(std::string_view text) {
  if (text.empty()) return false;
  if (std::string_view("=@\t\r").find(text.front()) != std::string_view::npos) return true;
  return (text.front() == '+' || text.front() == '-') && !is_number(text);
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string cell = (is_formula(text) ? "'" : "") + std::string(text);
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace foretoken
