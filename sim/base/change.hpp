// One key of a scenario with another value: what --set says, and what the runs of a comparison, a
// sweep or a plan differ by. Its text is what a person types and what a store keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

struct Change {
  std::string key;  // "engine.sequences_max"
  Value value;      // its position says where it was written, "--set …"

  /// As if somebody had typed it: `to` stands at "--set name=to".
  Change(std::string name, Value to);
  /// Reads "table.key=value". The value is TOML; a bare word that is no TOML value is a string, so
  /// that model.name=qwen3-8b needs no quotes. Throws ConfigError where there is no key.
  static Change parse(std::string_view assignment);

  /// The value as --set takes it: without quotes where it is a string all the same.
  [[nodiscard]] std::string value_text() const;
  /// "engine.sequences_max=128".
  [[nodiscard]] std::string text() const { return key + "=" + value_text(); }

 private:
  Change() = default;
};

using Changes = std::vector<Change>;

/// The number that somebody wrote after --set, as spelled there ("0.10" stays that): for keys whose
/// strings look like numbers, such as versions. Nothing for other values and other sources.
std::optional<std::string_view> number_as_typed(const Value& value);

/// Each as "table.key=value", and back.
std::vector<std::string> texts_of(const Changes& changes);
Changes parse_changes(const std::vector<std::string>& assignments);

/// In their order, creating tables as needed.
void apply_changes(Value& root, const Changes& changes);

}  // namespace foretoken
