#include "sim/base/value.hpp"

#include <algorithm>
#include <array>

namespace foretoken {

const Value* Value::find(std::string_view key) const {
  const auto& object = std::get<ValueObject>(data);
  const auto found =
      std::ranges::find_if(object, [&](const auto& member) { return member.first == key; });
  return found == object.end() ? nullptr : &found->second;
}

void Value::set(std::string_view key, Value value) {
  auto& object = std::get<ValueObject>(data);
  const auto found =
      std::ranges::find_if(object, [&](const auto& member) { return member.first == key; });
  if (found != object.end()) {
    found->second = std::move(value);
  } else {
    object.emplace_back(std::string(key), std::move(value));
  }
}

std::string_view type_name(const Value& value) {
  static constexpr std::array<std::string_view, 6> names = {"a boolean", "an integer", "a number",
                                                            "a string",  "an array",   "a table"};
  return names[value.data.index()];
}

}  // namespace foretoken
