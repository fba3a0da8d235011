#include "sim/base/keys.hpp"

#include <cmath>

#include "sim/base/toml.hpp"

namespace foretoken {

bool Range::holds(double value) const {
  return (has_low ? value >= low : value > low) && value <= high;
}

Range at_least(double low, std::string message) {
  return {.low = low, .message = std::move(message)};
}

Range above(double low, std::string message) {
  return {.low = low, .has_low = false, .message = std::move(message)};
}

Range between(double low, double high, std::string message) {
  return {.low = low, .high = high, .message = std::move(message)};
}

Range share(std::string message) {
  return {.low = 0, .high = 1, .has_low = false, .message = std::move(message)};
}

Range not_negative() { return at_least(0, "must not be negative"); }

Range count() { return at_least(1, "must be at least 1, not {}"); }

namespace detail {

std::string joined(const std::vector<std::string_view>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string value_text(const std::optional<Value>& value) {
  if (!value) return "not set";
  Value table;
  table.set("k", *value);
  std::string text = to_toml(table);
  if (!text.starts_with("k = ")) return "a table";
  return text.substr(4, text.find_last_not_of('\n') - 3);
}

std::string number_text(double value) { return fmt::format("{}", value); }

}  // namespace detail

namespace {

using detail::value_text;

/// "1 ms or more": `end` says how an end of the range reads.
std::string range_text(const Range& range, std::string (*end)(double)) {
  const bool has_low = std::isfinite(range.low);
  const bool has_high = std::isfinite(range.high);
  if (has_low && has_high && range.has_low)
    return fmt::format("{} to {}", end(range.low), end(range.high));
  std::string text;
  if (has_low && range.has_low) text = fmt::format("{} or more", end(range.low));
  if (has_low && !range.has_low) text = fmt::format("above {}", end(range.low));
  if (has_high) text += fmt::format("{}at most {}", text.empty() ? "" : ", ", end(range.high));
  return text;
}

std::string range_message(const Range& range, const std::string& value) {
  if (!range.message.empty()) return fmt::format(fmt::runtime(range.message), value);
  if (!std::isfinite(range.high)) {
    return fmt::format("must be {} {}", range.has_low ? "at least" : "above",
                       detail::number_text(range.low));
  }
  return fmt::format("must be from {} to {}", detail::number_text(range.low),
                     detail::number_text(range.high));
}

}  // namespace

AnyKey::AnyKey(std::string name, const MemberForm& form, Member member, const void* defaults,
               KeyRules rules, std::string meaning)
    : is_quiet_(rules.quiet) {
  // A member is found alike in settings that may be written to and in others.
  write_ = [&form, member](const void* settings) {
    return form.write(member(const_cast<void*>(settings)));
  };
  note_ = {.name = name,
           .type = form.type(),
           .unit = rules.unit.empty() ? form.unit() : rules.unit,
           .fallback = rules.required           ? "required"
                       : rules.fallback.empty() ? value_text(write_(defaults))
                                                : rules.fallback,
           .allowed = rules.allowed.empty() ? form.allowed() : rules.allowed,
           .meaning = std::move(meaning)};
  if (note_.allowed.empty()) note_.allowed = range_text(rules.range, form.end_text);
  read_ = [&form, member = std::move(member), name = std::move(name),
           range = std::move(rules.range),
           is_required = rules.required](TableReader& table, void* settings) {
    void* value = member(settings);
    if (is_required && !table.has(name)) return;
    if (!form.read(table, name, value) || form.is_within(range, value)) return;
    table.expect(name, false, range_message(range, value_text(form.write(value))), Mistake::slip);
  };
}

void AnyKey::write_if(std::function<bool(const void* settings)> has_meaning) {
  write_ = [write = std::move(write_), has_meaning = std::move(has_meaning)](const void* settings) {
    return has_meaning(settings) ? write(settings) : std::nullopt;
  };
}

bool AnyKey::is_left_out(const void* settings, const void* defaults) const {
  return is_quiet_ && value_text(write_(settings)) == value_text(write_(defaults));
}

std::vector<KeyNote> AnyKeys::notes() const {
  std::vector<KeyNote> notes;
  for (const AnyKey& key : keys_) notes.push_back(key.note());
  return notes;
}

void AnyKeys::read(TableReader& table, void* settings) const {
  for (const AnyKey& key : keys_) key.read(table, settings);
}

void AnyKeys::write(const void* settings, const void* defaults, Value& table, bool all) const {
  for (const AnyKey& key : keys_) {
    if (!all && key.is_left_out(settings, defaults)) continue;
    if (auto value = key.write(settings)) table.set(key.note().name, std::move(*value));
  }
}

}  // namespace foretoken
