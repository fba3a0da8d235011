#include "sim/base/json.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace foretoken {
namespace {

using Json = nlohmann::ordered_json;

// convert() and ~Value recurse; the parser does not, and would accept any depth.
constexpr int levels_max = 100;

bool fits_int64(const Json& json) {
  return !json.is_number_unsigned() ||
         json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
}

Value convert(const Json& json, const SourcePosition& position, int level = 0) {
  if (level > levels_max) {
    throw ConfigError(position, fmt::format("nests deeper than {} levels", levels_max));
  }
  Value value;
  if (json.is_object()) {
    for (const auto& [key, member] : json.items()) {
      if (!member.is_null()) value.set(key, convert(member, position, level + 1));
    }
  } else if (json.is_array()) {
    ValueArray elements;
    for (const Json& element : json) elements.push_back(convert(element, position, level + 1));
    value.data = std::move(elements);
  } else if (json.is_boolean()) {
    value.data = json.get<bool>();
  } else if (json.is_number_integer() && fits_int64(json)) {
    value.data = json.get<std::int64_t>();
  } else if (json.is_number()) {
    value.data = json.get<double>();
  } else if (json.is_string()) {
    value.data = json.get<std::string>();
  }
  value.position = position;
  return value;
}

Json convert(const Value& value) {
  return std::visit(
      [](const auto& data) -> Json {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, ValueObject>) {
          Json object = Json::object();
          for (const auto& [key, member] : data) object[key] = convert(member);
          return object;
        } else if constexpr (std::is_same_v<Data, ValueArray>) {
          Json array = Json::array();
          for (const Value& element : data) array.push_back(convert(element));
          return array;
        } else {
          return data;
        }
      },
      value.data);
}

}  // namespace

Value parse_json(std::string_view text, const SourcePosition& position) {
  try {
    return convert(Json::parse(text), position);
  } catch (const nlohmann::json::parse_error& error) {
    SourcePosition place = position;
    if (place.line == 0) {
      const auto end =
          text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
      place.line = 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
    }
    throw ConfigError(place,
                      "is not valid JSON (cut off, or a quote, comma or bracket is missing)");
  } catch (const nlohmann::json::out_of_range&) {
    throw ConfigError(position, "is not valid JSON (a number is beyond 1.8e308)");
  }
}

Value load_json(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code unreachable;
  if (!file || std::filesystem::is_directory(path, unreachable)) {
    throw ConfigError({path.string()}, "cannot read this file; check the path");
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_json(text, {path.string()});
}

std::string to_json(const Value& value, int indent) {
  // A path in a string need not be UTF-8; writing it must not throw.
  return convert(value).dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace foretoken
