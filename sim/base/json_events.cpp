#include "sim/base/json_events.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/base/nesting.hpp"

namespace foretoken {
namespace {

using Json = nlohmann::ordered_json;

/// Python writes these words, for which JSON and nlohmann have none; each stands as a string that
/// no file holds while the text is parsed.
struct OddNumber {
  std::string_view word, stand_in;
  double value;
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr auto odd_numbers =
    std::to_array<OddNumber>({{"-Infinity", "\x01-Infinity", -infinity},
                              {"Infinity", "\x01Infinity", infinity},
                              {"NaN", "\x01NaN", std::numeric_limits<double>::quiet_NaN()}});

/// `text` with those words, outside of strings, made strings.
std::string with_stand_ins(std::string_view text) {
  std::string out;
  bool is_in_string = false;
  while (!text.empty()) {
    const auto odd = std::ranges::find_if(
        odd_numbers, [&](const OddNumber& number) { return text.starts_with(number.word); });
    if (!is_in_string && odd != odd_numbers.end()) {
      out += fmt::format("\"\\u0001{}\"", odd->word);
      text.remove_prefix(odd->word.size());
      continue;
    }
    const bool is_escape = is_in_string && text.front() == '\\' && text.size() > 1;
    if (text.front() == '"') is_in_string = !is_in_string;
    const std::size_t taken = is_escape ? 2 : 1;
    out += text.substr(0, taken);
    text.remove_prefix(taken);
  }
  return out;
}

/// A string, or the number that it stands for.
Value text_value(std::string text) {
  const auto odd = std::ranges::find(odd_numbers, text, &OddNumber::stand_in);
  return odd == odd_numbers.end() ? Value(std::move(text)) : Value(odd->value);
}

/// How far the parser has come.
struct Reading {
  std::string_view rest;
  int line = 1;
};

/// The text's characters, each of which moves the Reading on.
class Characters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Characters() = default;  // the end
  explicit Characters(Reading& reading) : reading_(&reading) {}
  reference operator*() const { return reading_->rest.front(); }
  Characters& operator++() {
    if (reading_->rest.front() == '\n') ++reading_->line;
    reading_->rest.remove_prefix(1);
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(const Characters& other) const { return is_at_end() == other.is_at_end(); }

 private:
  [[nodiscard]] bool is_at_end() const { return reading_ == nullptr || reading_->rest.empty(); }
  Reading* reading_ = nullptr;
};

class Events final : public nlohmann::json_sax<Json> {
 public:
  Events(const Reading& reading, const SourcePosition& position, JsonHandler& handler)
      : reading_(reading), position_(position), handler_(handler) {}

  bool null() override { return tell(&JsonHandler::null); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto limit = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (value > limit) return add(static_cast<double>(value));
    return add(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& /*digits*/) override {
    return add(value);
  }
  bool string(string_t& value) override { return add(text_value(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON has none

  bool start_object(std::size_t /*members*/) override { return open(Value()); }
  bool key(string_t& name) override { return tell(&JsonHandler::key, std::move(name)); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(Value(ValueArray{})); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t /*byte*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    constexpr int number_out_of_range = 406;
    if (error.id == number_out_of_range)
      throw ConfigError(position_, "is not valid JSON (a number is beyond 1.8e308)");
    throw ConfigError(place(),
                      "is not valid JSON (cut off, or a quote, comma or bracket is missing)");
  }

 private:
  [[nodiscard]] SourcePosition place() const {
    SourcePosition place = position_;
    if (place.line == 0) place.line = reading_.line;
    return place;
  }
  template <class... Given, class... Taken>
  bool tell(void (JsonHandler::*event)(Taken...), Given&&... given) {
    handler_.line = reading_.line;
    (handler_.*event)(std::forward<Given>(given)...);
    return true;
  }
  bool add(Value value) { return tell(&JsonHandler::scalar, std::move(value)); }
  /// No deeper than levels_max, which ~Value could not free.
  bool open(Value empty) {
    if (++levels_ > levels_max + 1) throw ConfigError(place(), too_deep_message());
    return tell(&JsonHandler::open, std::move(empty));
  }
  bool close() {
    --levels_;
    return tell(&JsonHandler::close);
  }

  const Reading& reading_;
  const SourcePosition& position_;
  JsonHandler& handler_;
  int levels_ = 0;
};

void skip_blanks(Reading& reading) {
  Characters at(reading);
  constexpr std::string_view blanks = " \t\r\n";
  while (!reading.rest.empty() && blanks.find(reading.rest.front()) != std::string_view::npos) ++at;
}

}  // namespace

void parse_json_events(std::string_view text, const SourcePosition& position, bool is_sequence,
                       JsonHandler& handler) {
  const bool may_be_odd =
      text.find("Infinity") != std::string_view::npos || text.find("NaN") != std::string_view::npos;
  const std::string replaced = may_be_odd ? with_stand_ins(text) : "";
  Reading reading{may_be_odd ? std::string_view(replaced) : text};
  if (reading.rest.starts_with("\xEF\xBB\xBF")) reading.rest.remove_prefix(3);  // UTF-8's mark
  do {
    Events events(reading, position, handler);
    Json::sax_parse(Characters(reading), Characters(), &events,
                    nlohmann::detail::input_format_t::json, !is_sequence);
    skip_blanks(reading);
  } while (is_sequence && !reading.rest.empty());
}

}  // namespace foretoken
