// What a table of a file may hold, said once: each key with the member it sets, the range of its
// values and what a person should know of it. The same list reads the table, checks it, writes it
// back and documents it (`foretoken keys`). What two keys mean together is checked by hand, after
// reading.
//
//   const Keys<FrontEndSettings>& front_end_keys() {
//     static const Keys<FrontEndSettings> keys = {
//         {"attempts_max", &FrontEndSettings::attempts_max, {.range = at_least(1)},
//          "Attempts at a request whose replicas fail, the first included."},
//     };
//     return keys;
//   }
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/table_reader.hpp"

namespace foretoken {

/// A key as documentation shows it; texts in TOML's spelling where they are values.
struct KeyNote {
  std::string name = {};
  std::string type = {};      // "integer", "time", "boolean" …
  std::string unit = {};      // "tokens"; of a quantity an example: "500 ms"; "" = none
  std::string fallback = {};  // what an absent key means: a value, "required", "not set" …
  std::string allowed = {};   // "1 or more", "greedy, top_k"; "" = anything of the type
  std::string meaning = {};   // one to three sentences
};

/// A table as documentation shows it.
struct KeyTable {
  std::string name;       // "engine.speculative"
  std::string condition;  // under which these keys exist: scheduler = "sglang"; "" = always
  std::string about;      // a sentence
  std::vector<KeyNote> keys;
};

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

struct KeyRules {
  Range range = {};
  std::string unit = {};  // of a plain number
  std::string fallback =
      {};                    // where the member's own default does not say what an absent key means
  std::string allowed = {};  // where neither type nor range says it
  bool required = false;
  bool quiet = false;  // written back only where it differs from its default
};

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
/// "1 ms or more": `end` says how an end of the range reads.
std::string range_text(const Range& range, const std::function<std::string(double)>& end);
std::string number_text(double value);
/// A value as it stands after "key = "; "not set" without one.
std::string value_text(const std::optional<Value>& value);
std::string range_message(const Range& range, const std::string& value);

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

/// One key of the table that sets an S.
template <class S>
class Key {
 public:
  using Read = std::function<void(TableReader&, S&)>;
  using Write = std::function<std::optional<Value>(const S&)>;

  /// `member` is a pointer to a member of S, or a callable that takes an S (const or not) to one.
  template <class Member>
  Key(std::string name, Member member, KeyRules rules, std::string meaning)
      : is_quiet_(rules.quiet) {
    using T = std::remove_cvref_t<std::invoke_result_t<Member, S&>>;
    using Form = KeyForm<T>;
    write_ = [member](const S& settings) { return Form::write(std::invoke(member, settings)); };
    note_ = {.name = name,
             .type = Form::type(),
             .unit = rules.unit.empty() ? Form::unit() : rules.unit,
             .fallback = rules.required           ? "required"
                         : rules.fallback.empty() ? detail::value_text(write_(S()))
                                                  : rules.fallback,
             .allowed = rules.allowed.empty() ? Form::allowed() : rules.allowed,
             .meaning = std::move(meaning)};
    if (note_.allowed.empty()) {
      note_.allowed =
          detail::range_text(rules.range, [](double end) { return detail::end_text<T>(end); });
    }
    read_ = [member, name = std::move(name), range = std::move(rules.range),
             is_required = rules.required](TableReader& table, S& settings) {
      auto& value = std::invoke(member, settings);
      if (is_required && !table.has(name)) return;
      if (!Form::read(table, name, value) || detail::is_within(range, value)) return;
      table.expect(name, false,
                   detail::range_message(range, detail::value_text(Form::write(value))),
                   Mistake::slip);
    };
  }

  /// A key with a form of its own: how it is read, and what is written back (nullopt: nothing).
  Key(KeyNote note, Read read, Write write, bool is_quiet = false)
      : note_(std::move(note)),
        read_(std::move(read)),
        write_(std::move(write)),
        is_quiet_(is_quiet) {}

  /// A key that has no meaning elsewhere, and is not written back there.
  Key written_if(std::function<bool(const S&)> has_meaning) && {
    write_ = [write = std::move(write_), has_meaning = std::move(has_meaning)](const S& settings) {
      return has_meaning(settings) ? write(settings) : std::nullopt;
    };
    return std::move(*this);
  }

  [[nodiscard]] const KeyNote& note() const { return note_; }
  void read(TableReader& table, S& settings) const { read_(table, settings); }
  /// What stands in the file for `settings`; nullopt: the key is absent.
  [[nodiscard]] std::optional<Value> write(const S& settings) const { return write_(settings); }
  /// Whether an equal value would come of the key's absence.
  [[nodiscard]] bool is_left_out(const S& settings) const {
    return is_quiet_ && detail::value_text(write_(settings)) == detail::value_text(write_(S()));
  }

 private:
  KeyNote note_;
  Read read_;
  Write write_;
  bool is_quiet_ = false;
};

/// The keys of a table that sets an S, in the order in which they are read and written.
template <class S>
class Keys {
 public:
  Keys(std::initializer_list<Key<S>> keys) : keys_(keys) {}

  /// Reads every key that is there. Does not finish the table: others may have keys in it.
  void read(TableReader& table, S& settings) const {
    for (const Key<S>& key : keys_) key.read(table, settings);
  }
  /// Sets in `table` what reads back to `settings`; quiet keys at their defaults too if `all`.
  void write(const S& settings, Value& table, bool all = false) const {
    for (const Key<S>& key : keys_) {
      if (!all && key.is_left_out(settings)) continue;
      if (auto value = key.write(settings)) table.set(key.note().name, std::move(*value));
    }
  }
  [[nodiscard]] Value table(const S& settings) const {
    Value out;
    write(settings, out);
    return out;
  }
  [[nodiscard]] std::vector<KeyNote> notes() const {
    std::vector<KeyNote> notes;
    for (const Key<S>& key : keys_) notes.push_back(key.note());
    return notes;
  }

 private:
  std::vector<Key<S>> keys_;
};

}  // namespace foretoken
