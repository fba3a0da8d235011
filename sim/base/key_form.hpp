// How a value of any type stands in a table of a file: read, written back, checked against a range,
// and named in documentation. keys.hpp makes the keys of a table from it.
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/table_reader.hpp"

namespace foretoken {

/// The values a number may have; of a list, each of its elements.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool has_low = true;  // whether `low` itself is one of them
  /// What a mistake is told, after "key: "; "{}" stands for the value. "" = made from the ends.
  std::string message = {};

  [[nodiscard]] bool holds(double value) const;
};

Range at_least(double low, std::string message = {});
Range above(double low, std::string message = {});
Range between(double low, double high, std::string message = {});
/// Above 0, at most 1.
Range share(std::string message);
/// 0 or more; what a mistake is told does not say the number.
Range not_negative();
/// At least 1; what a mistake is told says which number it was.
Range count();

/// How a member of type T stands in a table. A type with a form of its own ("5 s" or a
/// distribution) specialises this beside its declaration.
template <class T>
struct KeyForm;

namespace detail {

template <class T>
inline constexpr bool is_quantity = false;
template <class Dimension>
inline constexpr bool is_quantity<Quantity<Dimension>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

std::string joined(const std::vector<std::string_view>& names);
std::string number_text(double value);
/// A value as it stands after "key = "; "not set" without one.
std::string value_text(const std::optional<Value>& value);

inline std::string_view quantity_noun(Seconds) { return "time"; }
inline std::string_view quantity_noun(Bytes) { return "size"; }
inline std::string_view quantity_noun(BytesPerSecond) { return "bandwidth"; }
inline std::string_view quantity_noun(PerSecond) { return "rate"; }
inline std::string_view quantity_noun(DollarsPerHour) { return "price"; }
inline std::string_view quantity_noun(Watts) { return "power"; }

/// Numbers are compared as they are in their base unit; what is no number is always within.
template <class T>
bool is_within(const Range& range, const T& value) {
  if constexpr (is_quantity<T>) {
    return range.holds(value.value());
  } else if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool>) {
    return range.holds(static_cast<double>(value));
  } else if constexpr (is_optional<T>) {
    return !value || is_within(range, *value);
  } else if constexpr (is_list<T>) {
    for (const auto& element : value) {
      if (!is_within(range, element)) return false;
    }
  }
  return true;
}

template <class T>
std::string end_text(double end) {
  if constexpr (is_optional<T>) {
    return end_text<typename T::value_type>(end);
  } else if constexpr (std::same_as<T, Seconds> || std::same_as<T, Bytes>) {
    return end == 0 ? "0" : readable(T(end));
  } else {
    return number_text(end);
  }
}

}  // namespace detail

template <class T>
struct KeyForm {
  static bool read(TableReader& table, std::string_view key, T& out) {
    return table.read(key, out);
  }
  static std::optional<Value> write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return std::string(enum_name(value));
    } else if constexpr (detail::is_quantity<T>) {
      return exact_text(value);
    } else if constexpr (detail::is_list<T>) {
      return ValueArray(value.begin(), value.end());
    } else if constexpr (std::same_as<T, std::uint64_t>) {
      return static_cast<std::int64_t>(value);
    } else {
      return value;
    }
  }
  static std::string type() {
    if constexpr (detail::is_quantity<T>) {
      return std::string(detail::quantity_noun(T()));
    } else if constexpr (detail::is_list<T>) {
      return "list of " + KeyForm<typename T::value_type>::type() + "s";
    } else if constexpr (std::same_as<T, bool>) {
      return "boolean";
    } else if constexpr (std::integral<T>) {
      return "integer";
    } else if constexpr (std::floating_point<T>) {
      return "number";
    } else {
      return "string";
    }
  }
  static std::string unit() {
    if constexpr (detail::is_quantity<T>) return std::string(quantity_example<T>());
    return "";
  }
  static std::string allowed() {
    if constexpr (std::is_enum_v<T>) {
      const auto& names = EnumNames<T>::names;
      return detail::joined({names.begin(), names.end()});
    } else if constexpr (detail::is_list<T>) {
      return KeyForm<typename T::value_type>::allowed();
    }
    return "";
  }
};

/// Absent in the file, or a T.
template <class T>
struct KeyForm<std::optional<T>> {
  static bool read(TableReader& table, std::string_view key, std::optional<T>& out) {
    T value{};
    if (!KeyForm<T>::read(table, key, value)) return false;
    out = std::move(value);
    return true;
  }
  static std::optional<Value> write(const std::optional<T>& value) {
    return value ? KeyForm<T>::write(*value) : std::nullopt;
  }
  static std::string type() { return KeyForm<T>::type(); }
  static std::string unit() { return KeyForm<T>::unit(); }
  static std::string allowed() { return KeyForm<T>::allowed(); }
};

/// A KeyForm whose T is forgotten, so that one piece of code serves the members of every type.
struct MemberForm {
  bool (*read)(TableReader& table, std::string_view key, void* out);
  std::optional<Value> (*write)(const void* value);
  bool (*is_within)(const Range& range, const void* value);
  std::string (*end_text)(double end);  // how an end of a range of it reads
  std::string (*type)();
  std::string (*unit)();
  std::string (*allowed)();
};

template <class T>
const MemberForm& member_form() {
  using Form = KeyForm<T>;
  static constexpr MemberForm form = {
      .read = [](TableReader& table, std::string_view key,
                 void* out) { return Form::read(table, key, *static_cast<T*>(out)); },
      .write = [](const void* value) -> std::optional<Value> {
        return Form::write(*static_cast<const T*>(value));
      },
      .is_within =
          [](const Range& range, const void* value) {
            return detail::is_within(range, *static_cast<const T*>(value));
          },
      .end_text = detail::end_text<T>,
      .type = Form::type,
      .unit = Form::unit,
      .allowed = Form::allowed,
  };
  return form;
}

}  // namespace foretoken
