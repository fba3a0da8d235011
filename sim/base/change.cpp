#include "sim/base/change.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/nesting.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

// A position within "value = …" would point at text that the user never wrote.
void place_at(Value& value, const SourcePosition& position) {
  value.position = position;
  if (auto* array = std::get_if<ValueArray>(&value.data)) {
    for (Value& element : *array) place_at(element, position);
  } else if (auto* object = std::get_if<ValueObject>(&value.data)) {
    for (auto& [key, member] : *object) place_at(member, position);
  }
}

Value read_value(std::string_view text) {
  try {
    const Value parsed = parse_toml(fmt::format("value = {}", text), "");
    // More than one member: the text went on with lines of its own.
    if (std::get<ValueObject>(parsed.data).size() == 1) return *parsed.find("value");
  } catch (const ConfigError&) {
    // A bare word, which stays the string it is.
  }
  return std::string(text);
}

bool is_key(std::string_view text) {
  return !text.empty() && !text.starts_with('.') && !text.ends_with('.') &&
         text.find("..") == std::string_view::npos;
}

}  // namespace

Change::Change(std::string name, Value to) : key(std::move(name)), value(std::move(to)) {
  place_at(value, {"--set " + text()});
}

Change Change::parse(std::string_view assignment) {
  const SourcePosition source{fmt::format("--set {}", assignment)};
  const auto equals = assignment.find('=');
  std::string_view key = assignment.substr(0, equals);
  while (key.ends_with(' ')) key.remove_suffix(1);
  if (equals == std::string_view::npos || !is_key(key)) {
    throw ConfigError(source, "expected table.key=value, for example engine.sequences_max=128");
  }
  if (std::ranges::count(key, '.') >= levels_max) throw ConfigError(source, too_deep_message());
  Change change;
  change.key = key;
  change.value = read_value(assignment.substr(equals + 1));
  place_at(change.value, source);
  return change;
}

std::optional<std::string_view> number_as_typed(const Value& value) {
  const bool is_number = std::holds_alternative<double>(value.data) ||
                         std::holds_alternative<std::int64_t>(value.data);
  const std::string_view source = value.position.file;
  const auto equals = source.find('=');
  if (!is_number || !source.starts_with("--set ") || equals == std::string_view::npos)
    return std::nullopt;
  std::string_view typed = source.substr(equals + 1);
  while (typed.starts_with(' ')) typed.remove_prefix(1);
  while (typed.ends_with(' ')) typed.remove_suffix(1);
  // An element of an array has the array's position.
  if (typed.empty() || typed.starts_with('[') || typed.starts_with('{')) return std::nullopt;
  return typed;
}

std::string Change::value_text() const {
  if (const auto typed = number_as_typed(value)) return std::string(*typed);
  if (const auto* number = std::get_if<double>(&value.data)) return fmt::format("{}", *number);
  const auto* bare = std::get_if<std::string>(&value.data);
  if (bare != nullptr) {
    const Value read = read_value(*bare);
    const auto* same = std::get_if<std::string>(&read.data);
    if (same != nullptr && *same == *bare) return *bare;
  }
  return inline_toml(value);
}

std::vector<std::string> texts_of(const Changes& changes) {
  std::vector<std::string> texts;
  for (const Change& change : changes) texts.push_back(change.text());
  return texts;
}

Changes parse_changes(const std::vector<std::string>& assignments) {
  Changes changes;
  for (const std::string& assignment : assignments) changes.push_back(Change::parse(assignment));
  return changes;
}

namespace {

void apply_change(Value& root, const Change& change) {
  const SourcePosition& source = change.value.position;
  Value* table = &root;
  std::string_view rest = change.key;
  for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    const std::string_view key = rest.substr(0, dot);
    if (table->find(key) == nullptr) {
      Value created;
      created.position = source;
      table->set(key, std::move(created));
    }
    table = const_cast<Value*>(table->find(key));
    if (!table->is_object()) {
      throw ConfigError(source, fmt::format("'{}' is {}, not a table", key, type_name(*table)));
    }
    rest.remove_prefix(dot + 1);
  }
  table->set(rest, change.value);
}

}  // namespace

void apply_changes(Value& root, const Changes& changes) {
  for (const Change& change : changes) apply_change(root, change);
}

}  // namespace foretoken
