// A tree of plain values that remembers where each came from: what a TOML file, a JSON document or
// "--set key=value" becomes before any room reads it, and what is written back.
// It knows no format's details; toml.hpp parses and writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {

struct Value;
using ValueArray = std::vector<Value>;
/// Keys in the order of the file; looked up linearly (tables are small).
using ValueObject = std::vector<std::pair<std::string, Value>>;

struct Value {
  std::variant<bool, std::int64_t, double, std::string, ValueArray, ValueObject> data;
  SourcePosition position = {};  // of the key, or of the element in an array

  Value() : data(ValueObject{}) {}
  Value(bool v) : data(v) {}                      // NOLINT(google-explicit-constructor)
  Value(std::int64_t v) : data(v) {}              // NOLINT(google-explicit-constructor)
  Value(int v) : data(std::int64_t{v}) {}         // NOLINT(google-explicit-constructor)
  Value(double v) : data(v) {}                    // NOLINT(google-explicit-constructor)
  Value(const char* v) : data(std::string(v)) {}  // NOLINT(google-explicit-constructor)
  Value(std::string v) : data(std::move(v)) {}    // NOLINT(google-explicit-constructor)
  Value(ValueArray v) : data(std::move(v)) {}     // NOLINT(google-explicit-constructor)
  Value(ValueObject v) : data(std::move(v)) {}    // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool is_object() const { return std::holds_alternative<ValueObject>(data); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<ValueArray>(data); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(data); }

  /// The member called `key`, or nullptr. Only on objects.
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// Sets a member of an object, replacing one of the same name in place.
  void set(std::string_view key, Value value);
};

/// What a person calls the value's type: "a string", "an integer", "a table" …
std::string_view type_name(const Value& value);

}  // namespace foretoken
