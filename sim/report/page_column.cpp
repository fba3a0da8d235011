#include "sim/report/page_column.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace foretoken {
namespace {

void append_varint(std::string& bytes, std::uint64_t number) {
  while (number >= 0x80) {
    bytes += static_cast<char>(number | 0x80);
    number >>= 7;
  }
  bytes += static_cast<char>(number);
}

std::string packed(const std::vector<double>& numbers, double scale, bool takes_difference) {
  std::string bytes;
  std::int64_t before = 0;
  for (const double number : numbers) {
    if (std::isnan(number)) {
      bytes += '\0';
      continue;
    }
    const std::int64_t whole = std::llround(number * scale);
    const std::int64_t stored = takes_difference ? whole - before : whole;
    before = whole;
    append_varint(
        bytes,
        (static_cast<std::uint64_t>(stored) << 1 ^ static_cast<std::uint64_t>(stored >> 63)) + 1);
  }
  return bytes;
}

std::string base64(const std::string& bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

void set_numbers(ValueObject& value, const std::vector<double>& numbers, double scale) {
  const std::string plain = packed(numbers, scale, false);
  const std::string differences = packed(numbers, scale, true);
  const bool takes_difference = differences.size() < plain.size();
  value.emplace_back("delta", takes_difference);
  value.emplace_back("data", base64(takes_difference ? differences : plain));
}

}  // namespace

Value column_value(const PageColumn& column) {
  ValueObject value = {{"name", column.name},
                       {"unit", column.unit},
                       {"rows", static_cast<std::int64_t>(column.rows())}};
  if (column.is_key) value.emplace_back("key", true);
  if (!column.is_text) {
    value.emplace_back("decimals", column.decimals);
    const double scale = std::pow(10.0, column.decimals);
    set_numbers(value, column.numbers, scale);
    for (const auto& [name, numbers] :
         {std::pair("low", &column.low), std::pair("high", &column.high),
          std::pair("price_low", &column.price_low), std::pair("price_high", &column.price_high)}) {
      if (numbers->empty()) continue;
      ValueObject packed_numbers;
      set_numbers(packed_numbers, *numbers, scale);
      value.emplace_back(name, std::move(packed_numbers));
    }
    return value;
  }
  std::map<std::string, std::size_t> numbers;
  for (const std::string& text : column.texts) numbers.emplace(text, 0);
  ValueArray dictionary;
  for (auto& [text, number] : numbers) {
    number = dictionary.size();
    dictionary.emplace_back(text);
  }
  std::vector<double> indices;
  indices.reserve(column.texts.size());
  for (const std::string& text : column.texts) {
    indices.push_back(static_cast<double>(numbers.at(text)));
  }
  value.emplace_back("texts", std::move(dictionary));
  set_numbers(value, indices, 1);
  return value;
}

PageColumn PageColumn::of_numbers(std::string name, std::string unit, int decimals,
                                  std::vector<double> numbers) {
  PageColumn column;
  column.name = std::move(name);
  column.unit = std::move(unit);
  column.decimals = decimals;
  column.numbers = std::move(numbers);
  return column;
}

PageColumn PageColumn::of_values(std::string name, std::vector<std::string> texts) {
  std::vector<double> numbers;
  std::size_t decimals = 0;
  for (const std::string& text : texts) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (error != std::errc() || read != end) {
      PageColumn column = of_texts(std::move(name), std::move(texts));
      column.is_key = true;
      return column;
    }
    numbers.push_back(number);
    const auto point = text.find('.');
    if (point != std::string::npos) decimals = std::max(decimals, text.size() - point - 1);
  }
  PageColumn column =
      of_numbers(std::move(name), "", static_cast<int>(std::min<std::size_t>(decimals, 6)),
                 std::move(numbers));
  column.is_key = true;
  return column;
}

PageColumn PageColumn::of_texts(std::string name, std::vector<std::string> texts) {
  PageColumn column;
  column.name = std::move(name);
  column.is_text = true;
  column.texts = std::move(texts);
  return column;
}

void put_costs_first(std::vector<PageColumn>& columns) {
  if (columns.empty()) return;
  std::ranges::stable_sort(columns.begin() + 1, columns.end(), {}, [](const PageColumn& column) {
    if (column.name == "cost") return 0;
    if (column.name == "token cost") return 1;
    if (column.is_key) return 2;
    return column.name.find("p99") != std::string::npos ? 3 : 4;
  });
}

}  // namespace foretoken
