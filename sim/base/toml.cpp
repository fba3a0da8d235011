#include "sim/base/toml.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "sim/base/file_text.hpp"
#include "sim/base/nesting.hpp"

namespace foretoken {
namespace {

SourcePosition position_of(const toml::source_region& region, const std::string& source) {
  return {source, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

/// The longest text that is parsed: what lists of a million numbers take. Its tree takes some 100
/// times as much memory.
constexpr std::size_t toml_bytes_max = std::size_t{8} << 20;

Value convert(const toml::node& node, const std::string& source, int level = 0) {
  // Tables named piece by piece: [[a]], [[a.b]] … are two levels each.
  if (level > levels_max) throw ConfigError(position_of(node.source(), source), too_deep_message());
  Value value;
  if (const auto* table = node.as_table()) {
    for (const auto& [key, child] : *table) {
      Value member = convert(child, source, level + 1);
      member.position = position_of(key.source(), source);
      std::get<ValueObject>(value.data).emplace_back(std::string(key.str()), std::move(member));
    }
    // toml++ sorts keys; the order of the file is what a person expects to get back.
    std::ranges::stable_sort(std::get<ValueObject>(value.data), [](const auto& a, const auto& b) {
      return std::pair(a.second.position.line, a.second.position.column) <
             std::pair(b.second.position.line, b.second.position.column);
    });
  } else if (const auto* array = node.as_array()) {
    ValueArray elements;
    for (const toml::node& child : *array) elements.push_back(convert(child, source, level + 1));
    value.data = std::move(elements);
  } else if (const auto* boolean = node.as_boolean()) {
    value.data = boolean->get();
  } else if (const auto* integer = node.as_integer()) {
    value.data = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    value.data = number->get();
  } else if (const auto* text = node.as_string()) {
    value.data = text->get();
  } else {
    throw ConfigError(position_of(node.source(), source),
                      "dates and times are not supported here; write a string");
  }
  value.position = position_of(node.source(), source);
  return value;
}

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string key_text(std::string_view key) {
  return is_bare_key(key) ? std::string(key) : toml_string(key);
}

std::string number_text(double number) {
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

Value parse_toml(std::string_view text, const std::string& source) {
  if (text.size() > toml_bytes_max) throw ConfigError({source}, too_long_message(toml_bytes_max));
  check_toml_nesting(text, source);
  try {
    const toml::table table = toml::parse(text, source);
    return convert(table, source);
  } catch (const toml::parse_error& error) {
    throw ConfigError(position_of(error.source(), source), std::string(error.description()));
  }
}

Value load_toml(const std::filesystem::path& path) {
  return parse_toml(file_text(path, toml_bytes_max), path.string());
}

Value load_toml(const std::filesystem::path& path, FileKind wanted) {
  const std::string text = file_text(path, toml_bytes_max);
  expect_toml(text, path.string(), wanted);
  Value root = parse_toml(text, path.string());
  expect_kind(root, path.string(), wanted);
  return root;
}

std::string inline_toml(const Value& value) {
  return std::visit(
      [](const auto& data) -> std::string {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, std::string>) {
          return toml_string(data);
        } else if constexpr (std::is_same_v<Data, double>) {
          return number_text(data);
        } else if constexpr (std::is_same_v<Data, ValueArray>) {
          std::string text = "[";
          for (const Value& element : data) {
            if (text.size() > 1) text += ", ";
            text += inline_toml(element);
          }
          return text + "]";
        } else if constexpr (std::is_same_v<Data, ValueObject>) {
          std::string text = "{ ";
          for (const auto& [key, member] : data) {
            if (text.size() > 2) text += ", ";
            text += key_text(key) + " = " + inline_toml(member);
          }
          return text + " }";
        } else {
          return fmt::format("{}", data);
        }
      },
      value.data);
}

std::string to_toml(const Value& root) {
  std::string text;
  const auto& members = std::get<ValueObject>(root.data);
  for (const auto& [key, value] : members) {
    if (!value.is_object()) text += key_text(key) + " = " + inline_toml(value) + "\n";
  }
  for (const auto& [key, value] : members) {
    if (!value.is_object()) continue;
    if (!text.empty()) text += "\n";
    text += fmt::format("[{}]\n", key_text(key));
    for (const auto& [name, member] : std::get<ValueObject>(value.data)) {
      text += key_text(name) + " = " + inline_toml(member) + "\n";
    }
  }
  return text;
}

}  // namespace foretoken
