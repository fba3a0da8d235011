#include "sim/base/table_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/base/change.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

template <class T>
bool take(const Value& value, T& out) {
  if (const auto* exact = std::get_if<T>(&value.data)) {
    out = *exact;
    return true;
  }
  return false;
}

// --set engine.version=0.12 needs no quotes.
bool take(const Value& value, std::string& out) {
  if (const auto* exact = std::get_if<std::string>(&value.data)) {
    out = *exact;
    return true;
  }
  const auto typed = number_as_typed(value);
  if (typed) out = *typed;
  return typed.has_value();
}

bool take(const Value& value, int& out) {
  const auto* integer = std::get_if<std::int64_t>(&value.data);
  if (integer == nullptr || *integer < std::numeric_limits<int>::min() ||
      *integer > std::numeric_limits<int>::max()) {
    return false;
  }
  out = static_cast<int>(*integer);
  return true;
}

bool take(const Value& value, std::uint64_t& out) {
  const auto* integer = std::get_if<std::int64_t>(&value.data);
  if (integer == nullptr || *integer < 0) return false;
  out = static_cast<std::uint64_t>(*integer);
  return true;
}

bool take(const Value& value, double& out) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    out = static_cast<double>(*integer);
    return true;
  }
  const auto* number = std::get_if<double>(&value.data);
  if (number == nullptr || !std::isfinite(*number)) return false;
  out = *number;
  return true;
}

template <class T>
bool take(const Value& value, std::vector<T>& out) {
  const auto* array = std::get_if<ValueArray>(&value.data);
  if (array == nullptr) return false;
  std::vector<T> elements(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    if (!take((*array)[i], elements[i])) return false;
  }
  out = std::move(elements);
  return true;
}

/// A whole number that 64 bits do not hold, as --set has it: as a word like any other.
bool is_too_long_a_number(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc::result_out_of_range && last == end;
}

/// "95%", which is written as a share.
bool is_percentage(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && last + 1 == end && *last == '%';
}

// What stands there instead, so that "must be an integer" can end in "not -1".
std::string found(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    return fmt::format("{}", *integer);
  }
  if (const auto* number = std::get_if<double>(&value.data)) return fmt::format("{}", *number);
  const auto* text = std::get_if<std::string>(&value.data);
  if (text != nullptr && is_too_long_a_number(*text)) return *text + ", which is too large";
  if (text != nullptr && is_percentage(*text)) return *text + "; 0.05 is 5 %";
  return std::string(type_name(value));
}

template <class T>
std::string unlike(const Value& value, const std::vector<T>&) {
  const auto* array = std::get_if<ValueArray>(&value.data);
  if (array == nullptr) return "not " + found(value);
  T ignored{};
  const auto wrong =
      std::ranges::find_if(*array, [&](const Value& element) { return !take(element, ignored); });
  return fmt::format("but element {} is {}", wrong - array->begin() + 1, found(*wrong));
}

template <class T>
std::string unlike(const Value& value, const T&) {
  return "not " + found(value);
}

/// A JSON reader takes 1e9 for a fraction, and so do we.
template <class T>
requires(std::integral<T> && !std::same_as<T, bool>) std::string
    unlike(const Value& value, const T&) {
  constexpr double exact_below = 9007199254740992;  // 2^53
  const auto* number = std::get_if<double>(&value.data);
  if (number == nullptr || std::abs(*number) >= exact_below || std::trunc(*number) != *number) {
    return "not " + found(value);
  }
  return fmt::format("not with a point or an exponent; write {:.0f}", *number);
}

std::string unlike(const Value& value, const std::string&) {
  const bool is_number = std::holds_alternative<double>(value.data) ||
                         std::holds_alternative<std::int64_t>(value.data);
  return fmt::format("not {}{}", found(value), is_number ? "; put it in quotes" : "");
}

}  // namespace

TableReader::TableReader(const Value& table, Diagnostics& diagnostics, std::string name)
    : table_(&table), diagnostics_(&diagnostics), name_(std::move(name)) {
  FORETOKEN_CHECK(table.is_object(), "TableReader on {}", type_name(table));
}

#define FORETOKEN_READ(type, expected)                                                             \
  bool TableReader::read(std::string_view key, type& out) {                                        \
    const Value* value = find(key);                                                                \
    if (value == nullptr) return false;                                                            \
    if (take(*value, out)) return true;                                                            \
    return fail(key, fmt::format("must be " expected ", {}", unlike(*value, out)), Mistake::slip); \
  }
FORETOKEN_READ(bool, "true or false")
FORETOKEN_READ(int, "an integer up to 2147483647")
FORETOKEN_READ(std::int64_t, "an integer")
FORETOKEN_READ(std::uint64_t, "an integer from 0 to 9223372036854775807")
FORETOKEN_READ(double, "a finite number")
FORETOKEN_READ(std::string, "a string")
FORETOKEN_READ(std::vector<int>, "an array of integers")
FORETOKEN_READ(std::vector<double>, "an array of finite numbers")
FORETOKEN_READ(std::vector<std::string>, "an array of strings")
#undef FORETOKEN_READ

const Value* TableReader::find(std::string_view key) {
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.emplace_back(key);
  return table_->find(key);
}

const Value* TableReader::find_table(std::string_view key) {
  const Value* value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return value;
  fail(key, fmt::format("must be a table, not {}", type_name(*value)), Mistake::slip);
  return nullptr;
}

void TableReader::expect(std::string_view key, bool condition, std::string_view message,
                         Mistake mistake) {
  if (!condition && std::ranges::find(failed_, key) == failed_.end()) fail(key, message, mistake);
}

bool TableReader::fail(std::string_view key, std::string_view message, Mistake mistake) {
  failed_.emplace_back(key);
  diagnostics_->add(position(key), fmt::format("{}: {}", full_name(key), message), mistake);
  return false;
}

void TableReader::finish(const std::function<std::string(std::string_view)>& home) {
  std::vector<std::string_view> known(asked_.begin(), asked_.end());
  for (const auto& [key, value] : std::get<ValueObject>(table_->data)) {
    if (std::ranges::find(asked_, key) != asked_.end()) continue;
    const std::string_view noun = value.is_object() && name_.empty() ? "table" : "key";
    const std::string where = name_.empty() ? "" : fmt::format(" in [{}]", name_);
    const std::string_view nearest = nearest_name(key, known);
    const std::string owner = nearest.empty() && home ? home(key) : "";
    std::string remedy = fmt::format(". Known: {}", fmt::join(known, ", "));
    if (!nearest.empty()) remedy = fmt::format("; did you mean '{}'?", nearest);
    if (!owner.empty()) remedy = fmt::format("; it belongs to {}", owner);
    // Only some settings of the table bring the key with them.
    if (!name_.empty() && owner == fmt::format("[{}]", name_))
      remedy = fmt::format("; it has no effect with the other settings (foretoken keys {})", name_);
    diagnostics_->add(value.position, fmt::format("unknown {} '{}'{}{}", noun, key, where, remedy),
                      Mistake::slip);
  }
}

Value TableReader::take_rest() {
  Value rest;
  rest.position = table_->position;
  for (const auto& [key, value] : std::get<ValueObject>(table_->data)) {
    // Keys differ: no need to look for each among those before it, as set() would.
    if (std::ranges::find(asked_, key) == asked_.end())
      std::get<ValueObject>(rest.data).emplace_back(key, value);
  }
  for (const auto& [key, value] : std::get<ValueObject>(rest.data)) asked_.push_back(key);
  return rest;
}

void TableReader::also_known(const std::vector<std::string>& keys) {
  asked_.insert(asked_.end(), keys.begin(), keys.end());
}

SourcePosition TableReader::position(std::string_view key) const {
  const Value* value = table_->find(key);
  return value == nullptr ? table_->position : value->position;
}

std::string TableReader::full_name(std::string_view key) const {
  return fmt::format("{}{}{}", name_, name_.empty() ? "" : ".", key);
}

bool TableReader::read_quantity_text(std::string_view key, std::string& out,
                                     std::string_view example) {
  const Value* value = find(key);
  if (value == nullptr) return false;
  if (take(*value, out)) return true;
  return fail(key,
              fmt::format("must be a quantity in quotes, for example \"{}\", not {}", example,
                          found(*value)),
              Mistake::slip);
}

bool TableReader::fail_unknown_name(std::string_view key, const std::string& name,
                                    const std::vector<std::string_view>& known) {
  return fail(key, unknown_name_message("value", name, known), Mistake::slip);
}

bool TableReader::has(std::string_view key) {
  if (find(key) != nullptr) return true;
  failed_.emplace_back(key);
  diagnostics_->add(table_->position, name_.empty() ? fmt::format("'{}' is missing", key)
                                                    : fmt::format("[{}] lacks '{}'", name_, key));
  return false;
}

}  // namespace foretoken
