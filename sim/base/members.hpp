// One list of a struct's members by which it becomes a Value and is read back: what stands in
// report.json, and what a child process tells its parent. A type declares, beside itself or where
// it is written,
//   template <class Archive>
//   void members(Archive& archive, Point& point) {
//     archive("x", point.x);
//   }
// and the two archives below do the rest. Reading is for what this program wrote: anything missing,
// or of another type, is an InternalError. Files of users are TableReader's business.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/error.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

/// Members become an object in the order in which they are named.
class ValueWriter {
 public:
  static constexpr bool reads = false;

  /// Every number that is not whole passes through `number`.
  explicit ValueWriter(double (*number)(double)) : number_(number) {}

  template <class T>
  void operator()(std::string_view key, const T& member) {
    object_.emplace_back(key, written(member));
  }
  /// Left out where there is none.
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& member) {
    if (member) (*this)(key, *member);
  }
  template <class T>
  void unless_empty(std::string_view key, const std::vector<T>& list) {
    if (!list.empty()) (*this)(key, list);
  }
  /// An object within, whose members `part(archive)` names.
  template <class Part>
  void group(std::string_view key, const Part& part) {
    ValueWriter inner(number_);
    part(inner);
    object_.emplace_back(key, inner.take());
  }
  /// A list whose elements have names, as an object by name.
  template <class T>
  void by_name(std::string_view key, const std::vector<T>& list, std::string T::*name) {
    Value object;
    for (const T& element : list) object.set(element.*name, written(element));
    object_.emplace_back(key, std::move(object));
  }
  /// The same of elements that are a name and a number.
  template <class T, class Number>
  void by_name(std::string_view key, const std::vector<T>& list, std::string T::*name,
               Number T::*number) {
    Value object;
    for (const T& element : list) object.set(element.*name, written(element.*number));
    object_.emplace_back(key, std::move(object));
  }

  /// Whether a member that may be left out is there: as `has` says.
  [[nodiscard]] bool has(std::string_view, bool has) const { return has; }

  [[nodiscard]] Value take() { return std::move(object_); }

 private:
  template <class T>
  [[nodiscard]] Value written(const T& member) const {
    if constexpr (std::is_enum_v<T>) {
      return std::string(enum_name(member));
    } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      return static_cast<std::int64_t>(member);
    } else if constexpr (std::floating_point<T>) {
      return number_(member);
    } else if constexpr (is_vector<T>) {
      ValueArray array;
      for (const auto& element : member) array.push_back(written(element));
      return array;
    } else if constexpr (std::constructible_from<Value, T>) {
      return member;
    } else {
      ValueWriter inner(number_);
      members(inner, const_cast<T&>(member));  // which a writer leaves as it is
      return inner.take();
    }
  }

  double (*number_)(double);
  ValueObject object_;
};

/// The way back.
class ValueReader {
 public:
  static constexpr bool reads = true;

  explicit ValueReader(const Value& object) : object_(object) {}

  template <class T>
  void operator()(std::string_view key, T& member) {
    read(at(key), member);
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& member) {
    member.reset();
    if (const Value* found = object_.find(key)) {
      member = T();  // clang emplaces no struct within a struct
      read(*found, *member);
    }
  }
  template <class T>
  void unless_empty(std::string_view key, std::vector<T>& list) {
    list.clear();
    if (const Value* found = object_.find(key)) read(*found, list);
  }
  template <class Part>
  void group(std::string_view key, const Part& part) {
    ValueReader inner(at(key));
    part(inner);
  }
  template <class T>
  void by_name(std::string_view key, std::vector<T>& list, std::string T::*name) {
    list.clear();
    for (const auto& [known, value] : as<ValueObject>(at(key))) {
      T& element = list.emplace_back();
      read(value, element);
      element.*name = known;
    }
  }
  template <class T, class Number>
  void by_name(std::string_view key, std::vector<T>& list, std::string T::*name,
               Number T::*number) {
    list.clear();
    for (const auto& [known, value] : as<ValueObject>(at(key))) {
      T& element = list.emplace_back();
      element.*name = known;
      read(value, element.*number);
    }
  }

  /// As the object says.
  [[nodiscard]] bool has(std::string_view key, bool) const { return find(key) != nullptr; }
  /// The member called `key`, nullptr if there is none.
  [[nodiscard]] const Value* find(std::string_view key) const { return object_.find(key); }

 private:
  [[nodiscard]] const Value& at(std::string_view key) const {
    const Value* found = object_.find(key);
    FORETOKEN_CHECK(found != nullptr, "an answer lacks '{}'", key);
    return *found;
  }
  template <class T>
  static const T& as(const Value& value) {
    const T* found = std::get_if<T>(&value.data);
    FORETOKEN_CHECK(found != nullptr, "an answer holds {} where that cannot be", type_name(value));
    return *found;
  }
  template <class T>
  static void read(const Value& value, T& member) {
    if constexpr (std::is_enum_v<T>) {
      const auto known = parse_enum<T>(as<std::string>(value));
      FORETOKEN_CHECK(known.has_value(), "an answer says '{}'", as<std::string>(value));
      member = *known;
    } else if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
      member = as<T>(value);
    } else if constexpr (std::integral<T>) {
      member = static_cast<T>(as<std::int64_t>(value));
    } else if constexpr (std::floating_point<T>) {
      const auto* whole = std::get_if<std::int64_t>(&value.data);  // JSON's 2.0 may be 2
      member = whole != nullptr ? static_cast<T>(*whole) : as<double>(value);
    } else if constexpr (is_vector<T>) {
      member.clear();
      for (const Value& element : as<ValueArray>(value)) read(element, member.emplace_back());
    } else if constexpr (std::same_as<T, Value>) {
      member = value;
    } else {
      ValueReader inner(value);
      members(inner, member);
    }
  }

  const Value& object_;
};

/// `thing` as an object. Every number that is not whole passes through `number`.
template <class T>
Value to_value(
    const T& thing, double (*number)(double) = [](double value) { return value; }) {
  ValueWriter archive(number);
  members(archive, const_cast<T&>(thing));
  return archive.take();
}

template <class T>
T from_value(const Value& value) {
  T thing{};
  ValueReader archive(value);
  members(archive, thing);
  return thing;
}

}  // namespace foretoken
