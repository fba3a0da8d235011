#include "sim/planner/layout_choices.hpp"

#include <algorithm>
#include <ranges>
#include <string_view>

namespace foretoken {

namespace {

/// "1:3" as "1" and "3".
std::vector<std::string> parts_of(std::string_view value) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(value, ':'))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

/// Where the value was written, as far as that is known; else the key.
SourcePosition place_of(const LayoutChoice& choice, std::size_t value) {
  return value < choice.positions.size() ? choice.positions[value] : SourcePosition{choice.key};
}

}  // namespace

RunRequest Layout::request(const std::vector<LayoutChoice>& choices) const {
  RunRequest request;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].parts.empty()) {
      request.changes.push_back(Change::parse(choices[i].key + "=" + values[i]));
      continue;
    }
    const std::vector<std::string> parts = parts_of(values[i]);
    for (std::size_t part = 0; part < parts.size(); ++part)
      request.changes.push_back(Change::parse(choices[i].parts[part] + "=" + parts[part]));
  }
  return request;
}

std::vector<Layout> combinations(const std::vector<LayoutChoice>& choices) {
  std::vector<Layout> layouts = {Layout{}};
  for (const LayoutChoice& choice : choices) {
    if (choice.values.empty()) throw ConfigError({choice.key}, "has no values to compare");
    std::vector<Layout> longer;
    for (const Layout& layout : layouts) {
      for (std::size_t i = 0; i < choice.values.size(); ++i) {
        const std::string& value = choice.values[i];
        if (std::find(choice.values.begin(), choice.values.begin() + static_cast<long>(i), value) !=
            choice.values.begin() + static_cast<long>(i)) {
          throw ConfigError(place_of(choice, i), fmt::format("lists the value {} twice", value));
        }
        if (!choice.parts.empty() && parts_of(value).size() != choice.parts.size()) {
          throw ConfigError(place_of(choice, i),
                            fmt::format("'{}' must be {} values with ':' between them, for {}",
                                        value, choice.parts.size(), fmt::join(choice.parts, ", ")));
        }
        longer.push_back(layout);
        longer.back().values.push_back(value);
      }
    }
    layouts = std::move(longer);
  }
  return layouts;
}

std::string assignment_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value.data)) {
    return fmt::format("{}", *number);
  }
  if (const auto* number = std::get_if<double>(&value.data)) return fmt::format("{}", *number);
  if (const auto* truth = std::get_if<bool>(&value.data)) return *truth ? "true" : "false";
  throw ConfigError(value.position, "is a list or a table; write it as a string, as for --set");
}

}  // namespace foretoken
